"""The contract of stores as tests, for authors of stores. Needs the extra ``memwarden[testing]``.

* :class:`memwarden.testing.store_tests.StoreTests`: subclass it and run pytest.
* :func:`memwarden.testing.state_machine.store_machine`: random calls, every answer compared with the reference.
* :mod:`memwarden.testing.examples`: the memories, batches and filters that these tests use.
"""
