"""For whoever writes a backend: the contract as tests. Needs the extra ``memwarden[testing]``.

* :class:`memwarden.testing.store_tests.StoreTests`: subclass it and run pytest.
* :func:`memwarden.testing.state_machine.store_machine`: random calls, every answer compared with the reference.
* :mod:`memwarden.testing.examples`: the memories, batches and filters that they use.
"""
