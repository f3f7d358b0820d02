"""A registry of tools for an agent's model, which knows which tools read and which write.

A tool never raises to the model: an error is ``{"success": False, "error": ...}``. Only a caller without the permission
gets an exception.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from memwarden.agent.state import AsyncState
from memwarden.checks import quote
from memwarden.errors import Denied, InvalidInput, MemwardenError, NotFound, StoreError
from memwarden.records import Trust
from memwarden.remember.ingest.messages import read_arguments

Permission = Literal["read", "write"]
ToolFunction = Callable[..., Awaitable[dict[str, Any]]]
TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
    "integer": (int,),
    "object": (dict,),
    "any": (object,),
}
# The schemas of types whose names are not JSON's.
SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "any": {},
    "strings": {"type": "array", "items": {"type": "string"}},
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a tool.

    type: a JSON type, ``strings`` for a list of them, or ``any`` for every JSON value. choices: values offered to a
    model; empty for none. The tool decides whether others are valid.
    """

    name: str
    type: str
    description: str
    required: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call.

    Attributes:
        returns: the answer, in words. permissions: ``read``, or ``write`` when it changes something.
        call: takes the parameters by name and returns a JSON object with ``success``.
    """

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    returns: str
    permissions: Permission
    call: ToolFunction


class AsyncTools:
    """A registry of tools. ``permission``: what its caller may do; ``write`` includes reading."""

    def __init__(self, tools: Iterable[Tool] = (), *, permission: Permission = "write") -> None:
        if permission not in ("read", "write"):
            raise InvalidInput(f"permission is 'read' or 'write', not {quote(permission)}")
        self.permission = permission
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self.register(tool)

    def register(self, tool: Tool) -> None:
        """Add a tool. Raises InvalidInput for a taken name."""
        if tool.name in self._tools:
            raise InvalidInput(f"there is a tool {tool.name!r} already")
        self._tools[tool.name] = tool

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the caller may call, in the order of registration."""
        return tuple(tool for tool in self._tools.values() if self._may(tool))

    async def call_tool(self, name: str, parameters: Mapping[str, Any] | str | None = None) -> dict[str, Any]:
        """Call a tool and return its answer.

        parameters: by name, or the text of a JSON object, as OpenAI's API gives a model's arguments.

        Raises NotFound for an unknown tool, Denied for a tool that writes when the caller may only read. Wrong
        parameters and everything that memwarden refuses are answered with ``{"success": False, "error": ...}``.
        """
        tool = self._tools.get(name)
        if tool is None:
            raise NotFound(f"there is no tool {quote(name)}; there are: {', '.join(self._tools) or 'none'}")
        if not self._may(tool):
            raise Denied(f"{name} writes, and this caller may only read")
        try:
            return await tool.call(**check_parameters(tool, read_arguments(parameters or {})))
        except StoreError as error:
            return {"success": False, "error": f"the storage refused: {error}"}
        except MemwardenError as error:
            return {"success": False, "error": str(error)}

    def openai(self) -> list[dict[str, Any]]:
        """Return the tools as OpenAI's chat completions take them."""
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": describe_tool(tool),
                    "parameters": parameter_schema(tool),
                },
            }
            for tool in self.tools
        ]

    def anthropic(self) -> list[dict[str, Any]]:
        """Return the tools as Anthropic's messages take them."""
        return [
            {"name": tool.name, "description": describe_tool(tool), "input_schema": parameter_schema(tool)}
            for tool in self.tools
        ]

    def _may(self, tool: Tool) -> bool:
        return tool.permissions == "read" or self.permission == "write"


def describe_tool(tool: Tool) -> str:
    """Return a tool's purpose and answer, for a model."""
    return f"{tool.description} Returns: {tool.returns}"


def parameter_schema(tool: Tool) -> dict[str, Any]:
    """Return the JSON schema of a tool's parameters."""
    return {
        "type": "object",
        "properties": {
            parameter.name: {
                "description": parameter.description,
                **SCHEMAS.get(parameter.type, {"type": parameter.type}),
            }
            | ({"enum": list(parameter.choices)} if parameter.choices else {})
            for parameter in tool.parameters
        },
        "required": [parameter.name for parameter in tool.parameters if parameter.required],
        "additionalProperties": False,
    }


def check_parameters(tool: Tool, given: Any) -> dict[str, Any]:
    """Return the parameters of a call. Raises InvalidInput that names the wrong parameter."""
    if isinstance(given, str):
        raise InvalidInput(f"the parameters of {tool.name} are no whole, valid JSON object: {quote(given)}")
    if not isinstance(given, Mapping):
        raise InvalidInput(f"the parameters of {tool.name} are a JSON object, not {quote(given)}")
    known = {parameter.name: parameter for parameter in tool.parameters}
    for name in given:
        if name not in known:
            raise InvalidInput(f"{tool.name} has no parameter {quote(name)}; it has: {', '.join(known) or 'none'}")
    for item in known.values():
        if item.name not in given:
            if item.required:
                raise InvalidInput(f"{tool.name} needs {item.name}: {item.description}")
            continue
        value = given[item.name]
        if not _fits(item.type, value) and (item.required or value is not None):
            wanted = _WORDS.get(item.type, item.type)
            raise InvalidInput(f"{item.name} of {tool.name} is a {wanted}, not {quote(value)}")
    return dict(given)


_WORDS = {"strings": "list of strings", "integer": "whole number", "object": "JSON object"}


def _fits(type_: str, value: Any) -> bool:
    if type_ in ("number", "integer") and isinstance(value, bool):
        return False
    if type_ == "strings":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return isinstance(value, TYPES[type_])


def state_tools(state: AsyncState) -> tuple[Tool, ...]:
    """Return the four tools over a person's state: saveState, loadState, listStateKeys, searchState."""

    async def save(
        key: str, value: Any, description: str | None = None, expires_in: float | None = None
    ) -> dict[str, Any]:
        # Whoever calls it is a model, which may have read a page a moment ago.
        saved = await state.save(key, value, description=description, expires_in=expires_in, trust=Trust.EXTERNAL)
        return {"success": True, "key": saved.key, "size_bytes": saved.size_bytes}

    async def load(key: str) -> dict[str, Any]:
        await state.load(key)  # says what is not there
        return {"success": True, "value": (await state.load_for_model([key]))[key]}

    async def list_keys(include_values: bool | None = False) -> dict[str, Any]:
        keys = await state.list_keys(include_values=bool(include_values))
        entries = [
            {"key": key.key, "updated_at": key.updated_at, "size_bytes": key.size_bytes}
            | ({"preview": key.preview} if include_values else {})
            for key in keys
        ]
        return {"success": True, "count": len(entries), "keys": entries}

    async def search(pattern: str) -> dict[str, Any]:
        results = await state.load_for_model(list(await state.search(pattern)))
        return {"success": True, "pattern": pattern, "matches": list(results), "results": results}

    key = Parameter("key", "string", "Name of the value (e.g., 'kudos_givers_2025')", required=True)
    return (
        Tool(
            "saveState",
            "Save a value under a key for later sessions, in place of an earlier value.",
            (
                key,
                Parameter("value", "any", "Any JSON value", required=True),
                Parameter("description", "string", "One line about what it is"),
                Parameter("expires_in", "number", "Seconds after which it is gone; leave out to keep it"),
            ),
            "Whether it was saved, its key and size",
            "write",
            save,
        ),
        Tool("loadState", "Load the value that was saved under a key.", (key,), "The value", "read", load),
        Tool(
            "listStateKeys",
            "List all state keys with metadata",
            (Parameter("include_values", "boolean", "Include preview of values"),),
            "List of keys with timestamps and optional previews",
            "read",
            list_keys,
        ),
        Tool(
            "searchState",
            "Search state keys by pattern",
            (Parameter("pattern", "string", "Search pattern (e.g., 'kudos*', '*_givers')", required=True),),
            "Matching keys and their values",
            "read",
            search,
        ),
    )
