"""Makes blocking classes out of async ones: each method runs on a loop in a thread of its own.

Nothing is written twice. Signatures and docstrings are those of the async methods, visible to type checkers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from memwarden.concurrency.loop import Loop
from memwarden.errors import StoreUnavailable

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")
F = TypeVar("F", bound="Facade")


class Facade:
    """Base of a blocking object: the async object and the loop that its methods run on."""

    def __init__(self, inner: Any, loop: Loop) -> None:
        self._inner = inner
        self._loop = loop


class OwningFacade(Facade):
    """Base of a blocking object with a loop of its own. As a context manager it closes both at the end."""

    def close(self) -> None:
        """Finish pending writes and let go of the store and the thread. May be called twice.

        A call that another thread is waiting for ends too: with its answer, or with StoreUnavailable.
        """
        try:
            self._loop.run(self._inner.close())
        except StoreUnavailable:
            if not self._loop.over:
                raise
            # closed before or at the same time, or a fork's copy, which owns nothing
        finally:
            self._loop.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def start_loop(start: Callable[[], Coroutine[Any, Any, object]]) -> Loop:
    """Return a loop on which a coroutine function has run. Raises what it raises."""
    loop = Loop()
    try:
        loop.run(start())
    except BaseException:
        loop.stop()
        raise
    return loop


@contextmanager
def _naming(facade: Facade, method: Callable[..., Any]) -> Iterator[None]:
    """Let a complaint about missing or unknown arguments name the class that was called."""
    try:
        yield
    except TypeError as error:
        called = f"{method.__qualname__}()"
        if not str(error).startswith(called):
            raise
        said = f"{type(facade).__name__}.{method.__name__}()" + str(error).removeprefix(called)
        raise TypeError(said) from None


def _own(facade: Facade, method: Callable[Concatenate[A, P], R]) -> Callable[P, R]:
    """Return a method as the async object has it, which may be of a subclass: of a server in place of a store."""
    own: Callable[P, R] = getattr(facade._inner, method.__name__)
    return own


def blocking(method: Callable[Concatenate[A, P], Coroutine[Any, Any, R]]) -> Callable[Concatenate[Facade, P], R]:
    """Return the blocking twin of an async method."""

    def call(facade: Facade, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with _naming(facade, method):
            return facade._loop.run(_own(facade, method)(*args, **kwargs))

    return functools.update_wrapper(call, method)


def direct(method: Callable[Concatenate[A, P], R]) -> Callable[Concatenate[Facade, P], R]:
    """Return the twin of a method that waits for nothing: it is called as it is."""

    def call(facade: Facade, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with _naming(facade, method):
            return _own(facade, method)(*args, **kwargs)

    return functools.update_wrapper(call, method)


def making(kind: type[F], method: Callable[Concatenate[A, P], Any]) -> Callable[Concatenate[Facade, P], F]:
    """Return the twin of a method that makes an async object: it makes the blocking object."""

    def call(facade: Facade, /, *args: P.args, **kwargs: P.kwargs) -> F:
        with _naming(facade, method):
            return kind(_own(facade, method)(*args, **kwargs), facade._loop)

    return functools.update_wrapper(call, method)


def documented(method: Callable[..., Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Give a method that is written out the docstring of its async twin."""

    def document(twin: Callable[P, R]) -> Callable[P, R]:
        twin.__doc__ = method.__doc__
        return twin

    return document


class Attribute(Generic[R]):
    """An attribute of the async object, which can be read and is never set."""

    def __init__(self, doc: str = "") -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, facade: None, owner: type) -> Attribute[R]: ...

    @overload
    def __get__(self, facade: Facade, owner: type) -> R: ...

    def __get__(self, facade: Facade | None, owner: type) -> Attribute[R] | R:
        return self if facade is None else self._read(facade)

    def __set__(self, facade: Facade, value: R) -> None:
        raise AttributeError(f"{self._name} of {type(facade).__name__} cannot be set")

    def _read(self, facade: Facade) -> R:
        value: R = getattr(facade._inner, self._name)
        return value


class SettableAttribute(Attribute[R]):
    """An attribute of the async object that can be set."""

    def __set__(self, facade: Facade, value: R) -> None:
        setattr(facade._inner, self._name, value)


class Handle(Attribute[F]):
    """A handle of the async object, such as ``scope.review``, as a blocking object."""

    def __init__(self, kind: type[F], doc: str = "") -> None:
        super().__init__(doc)
        self._kind = kind

    def _read(self, facade: Facade) -> F:
        return self._kind(getattr(facade._inner, self._name), facade._loop)
