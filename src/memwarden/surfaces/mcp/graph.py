"""The knowledge graph of the reference memory server: its nine tools, over a person's saved state.

Each entity and each relation is a saved value under a key that sorts by time, so the order is that of their making.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from memwarden import clock
from memwarden.agent.state import AsyncState, StateEdit
from memwarden.agent.tools import AsyncTools, Parameter, Permission, Tool
from memwarden.errors import Denied, InvalidInput, NotFound
from memwarden.recall.answer.frame import clean_value
from memwarden.records import Trust
from memwarden.remember.imports.graph import ENTITIES, GRAPH, RELATIONS
from memwarden.remember.ingest.screening import screen
from memwarden.surfaces.mcp.schemas import FLAG, TEXT, Schema, list_of, row
from memwarden.surfaces.mcp.server import RegistryTool, serve_tool

Node = dict[str, Any]
Graph = dict[str, list[Node]]
Decoded = TypeVar("Decoded")
_ENTITY: Final = row({"name": TEXT, "entityType": TEXT, "observations": list_of(TEXT)})
_RELATION: Final = row({"from": TEXT, "to": TEXT, "relationType": TEXT})
_GRAPH: Final = row({"entities": list_of(_ENTITY), "relations": list_of(_RELATION)})
_DONE: Final = row({"success": FLAG, "message": TEXT})


class EntityNode(msgspec.Struct, frozen=True):
    """A thing in the graph, and what is known of it."""

    name: str
    entityType: str  # noqa: N815  # the wire's name
    observations: list[str]


class RelationEdge(msgspec.Struct, frozen=True, rename={"from_": "from"}):
    """A typed edge between two entities."""

    from_: str
    to: str
    relationType: str  # noqa: N815


class AddedContents(msgspec.Struct, frozen=True):
    """Observations to add to an entity."""

    entityName: str  # noqa: N815
    contents: list[str]


class DroppedObservations(msgspec.Struct, frozen=True):
    """Observations to delete from an entity."""

    entityName: str  # noqa: N815
    observations: list[str]


class KnowledgeGraph:
    """A person's graph of entities and relations, with the reference server's verbs and results.

    Each verb reads the graph and writes to it in one transaction.
    """

    def __init__(self, state: AsyncState) -> None:
        self._state = state

    async def create_entities(self, entities: Any) -> Graph:
        """Add entities, except those whose name is taken."""
        given = read_nodes(entities, list[EntityNode], "create_entities")
        added: list[Node] = []

        def create(graph: StoredGraph) -> StateEdit:
            known = {node["name"] for node in graph.entities.values()}
            added[:] = [node for node in given if node["name"] not in known]
            return StateEdit(_keyed(ENTITIES, added))

        await self._change(create)
        return {"entities": added}

    async def create_relations(self, relations: Any) -> Graph:
        """Add relations, except those that are there."""
        given = read_nodes(relations, list[RelationEdge], "create_relations")
        added: list[Node] = []

        def create(graph: StoredGraph) -> StateEdit:
            known = list(graph.relations.values())
            added[:] = [edge for edge in given if edge not in known]
            return StateEdit(_keyed(RELATIONS, added))

        await self._change(create)
        return {"relations": added}

    async def add_observations(self, observations: Any) -> Graph:
        """Add observations to entities. Raises NotFound for an unknown entity, and then adds nothing."""
        given = read_nodes(observations, list[AddedContents], "add_observations")
        results: list[Node] = []

        def add(graph: StoredGraph) -> StateEdit:
            results.clear()
            changed: dict[str, Node] = {}
            for addition in given:
                found = _find({**graph.entities, **changed}, addition["entityName"])
                if found is None:
                    raise NotFound(f"Entity with name {addition['entityName']} not found")
                key, entity = found
                new = [text for text in addition["contents"] if text not in entity["observations"]]
                changed[key] = {**entity, "observations": [*entity["observations"], *new]}
                results.append({"entityName": addition["entityName"], "addedObservations": new})
            return StateEdit(changed)

        await self._change(add)
        return {"results": results}

    async def delete_entities(self, entity_names: Any) -> Node:
        """Delete entities and all relations to and from them."""
        names = read_nodes(entity_names, list[str], "delete_entities")

        def delete(graph: StoredGraph) -> StateEdit:
            entities = [key for key, node in graph.entities.items() if node["name"] in names]
            relations = [key for key, edge in graph.relations.items() if edge["from"] in names or edge["to"] in names]
            return StateEdit(cleared=[*entities, *relations])

        await self._change(delete)
        return {"success": True, "message": "Entities deleted successfully"}

    async def delete_observations(self, deletions: Any) -> Node:
        """Delete observations of entities; unknown entities and observations are no error."""
        given = read_nodes(deletions, list[DroppedObservations], "delete_observations")

        def delete(graph: StoredGraph) -> StateEdit:
            changed: dict[str, Node] = {}
            for deletion in given:
                found = _find({**graph.entities, **changed}, deletion["entityName"])
                if found is not None:
                    key, entity = found
                    left = [text for text in entity["observations"] if text not in deletion["observations"]]
                    changed[key] = {**entity, "observations": left}
            return StateEdit(changed)

        await self._change(delete)
        return {"success": True, "message": "Observations deleted successfully"}

    async def delete_relations(self, relations: Any) -> Node:
        """Delete relations; unknown relations are no error."""
        given = read_nodes(relations, list[RelationEdge], "delete_relations")
        await self._change(
            lambda graph: StateEdit(cleared=[key for key, edge in graph.relations.items() if edge in given])
        )
        return {"success": True, "message": "Relations deleted successfully"}

    async def read_graph(self) -> Graph:
        """Return all of the graph."""
        return await self._show(await self._load(ENTITIES), await self._load(RELATIONS))

    async def search_nodes(self, query: str) -> Graph:
        """Return entities in whose name, type or observations the query occurs, with all their relations."""
        wanted = clean_value(query).lower()
        entities = {
            key: node
            for key, node in (await self._load(ENTITIES)).items()
            if any(wanted in text.lower() for text in (node["name"], node["entityType"], *node["observations"]))
        }
        return await self._show(entities, await self._relations_of(entities))

    async def open_nodes(self, names: Any) -> Graph:
        """Return the entities of these names, with all their relations."""
        wanted = read_nodes(names, list[str], "open_nodes")
        entities = {key: node for key, node in (await self._load(ENTITIES)).items() if node["name"] in wanted}
        return await self._show(entities, await self._relations_of(entities))

    async def _relations_of(self, entities: Mapping[str, Node]) -> dict[str, Node]:
        names = {node["name"] for node in entities.values()}
        edges = await self._load(RELATIONS)
        return {key: edge for key, edge in edges.items() if edge["from"] in names or edge["to"] in names}

    async def _load(self, where: str) -> dict[str, Node]:
        """Return what is stored, by key, the first made first."""
        return _nodes(await self._state.search(f"{where}*"), where)

    async def _change(self, decide: Callable[[StoredGraph], StateEdit]) -> None:
        # The caller is a model, which may have read a page a moment ago.
        await self._state.rewrite(
            GRAPH,
            lambda values: decide(StoredGraph(_nodes(values, ENTITIES), _nodes(values, RELATIONS))),
            trust=Trust.EXTERNAL,
        )

    async def _show(self, entities: Mapping[str, Node], relations: Mapping[str, Node]) -> Graph:
        """Return nodes as far as they are fit for a model to read."""
        return {
            "entities": list((await self._state.load_for_model(list(entities))).values()),
            "relations": list((await self._state.load_for_model(list(relations))).values()),
        }


class StoredGraph(NamedTuple):
    """The nodes of a graph by the keys of the saved values, the first made first."""

    entities: Mapping[str, Node]
    relations: Mapping[str, Node]


def _nodes(values: Mapping[str, Any], where: str) -> dict[str, Node]:
    shape = EntityNode if where == ENTITIES else RelationEdge
    return {key: node for key, node in values.items() if key.startswith(where) and _is(node, shape)}


def _keyed(where: str, nodes: Sequence[Node]) -> dict[str, Node]:
    return {f"{where}{clock.new_id()}": node for node in nodes}


def read_nodes(given: Any, kind: type[Decoded], tool: str) -> Any:
    """Return checked and cleaned arguments as plain JSON.

    Raises InvalidInput that names the wrong place, Denied for new texts that look like orders to an assistant.
    """
    try:
        plain = msgspec.to_builtins(msgspec.convert(given, kind))
    except msgspec.ValidationError as error:
        raise InvalidInput(f"Invalid arguments for tool {tool}: {error}") from None
    # Before it is cleaned: a tag that poses as the system's is an order only as it was written.
    if tool.startswith(("create", "add")):
        screening = screen(Trust.EXTERNAL, *_texts(plain))
        if screening.kinds:
            raise Denied(f"not saved: {screening.reason}")
    return clean_value(plain)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    else:
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _is(node: Any, shape: type[msgspec.Struct]) -> bool:
    """Whether a saved value is a node: anybody may save a value under such a key."""
    try:
        return bool(msgspec.convert(node, shape))
    except msgspec.ValidationError:
        return False


def _find(entities: Mapping[str, Node], name: str) -> tuple[str, Node] | None:
    return next(((key, node) for key, node in entities.items() if node["name"] == name), None)


class LenientTools(AsyncTools):
    """A registry that leaves out parameters which the tool does not have, as the reference server does."""

    async def call_tool(self, name: str, parameters: Mapping[str, Any] | str | None = None) -> dict[str, Any]:
        """Call a tool with those parameters that it has."""
        known = {item.name for tool in self.tools if tool.name == name for item in tool.parameters}
        given = parameters if isinstance(parameters, Mapping) else {}
        return await super().call_tool(name, {key: value for key, value in given.items() if key in known})


class GraphVerb(NamedTuple):
    """A tool of the graph: its parameter, and the schemas of both sides."""

    name: str
    about: str
    parameter: str
    takes: Schema
    answers: Schema
    permission: Permission


_VERBS: Final = (
    GraphVerb(
        "create_entities", "Create multiple new entities in the knowledge graph",
        "entities", list_of(_ENTITY), row({"entities": list_of(_ENTITY)}), "write",
    ),
    GraphVerb(
        "create_relations", "Create multiple new relations between entities, in active voice",
        "relations", list_of(_RELATION), row({"relations": list_of(_RELATION)}), "write",
    ),
    GraphVerb(
        "add_observations", "Add new observations to existing entities",
        "observations", list_of(row({"entityName": TEXT, "contents": list_of(TEXT)})),
        row({"results": list_of(row({"entityName": TEXT, "addedObservations": list_of(TEXT)}))}), "write",
    ),
    GraphVerb(
        "delete_entities", "Delete entities and all their relations",
        "entityNames", list_of(TEXT), _DONE, "write",
    ),
    GraphVerb(
        "delete_observations", "Delete observations from entities",
        "deletions", list_of(row({"entityName": TEXT, "observations": list_of(TEXT)})), _DONE, "write",
    ),
    GraphVerb("delete_relations", "Delete relations", "relations", list_of(_RELATION), _DONE, "write"),
    GraphVerb("read_graph", "Read the entire knowledge graph", "", {}, _GRAPH, "read"),
    GraphVerb(
        "search_nodes", "Search entities whose name, type or observations hold a text",
        "query", TEXT, _GRAPH, "read",
    ),
    GraphVerb("open_nodes", "Open entities by their names", "names", list_of(TEXT), _GRAPH, "read"),
)  # fmt: skip


def graph_tools(graph: Callable[[], KnowledgeGraph], permission: Permission) -> list[RegistryTool]:
    """Return the nine tools as a server offers them. graph: finds whose graph a call is about."""
    registry = LenientTools((_tool(graph, verb) for verb in _VERBS), permission=permission)
    verbs = {verb.name: verb for verb in _VERBS}
    return [
        serve_tool(tool, lambda: registry, verbs[tool.name].answers, takes=_takes(verbs[tool.name]), render=_render)
        for tool in registry.tools
    ]


def _tool(graph: Callable[[], KnowledgeGraph], verb: GraphVerb) -> Tool:
    async def call(**given: Any) -> dict[str, Any]:
        found: dict[str, Any] = await getattr(graph(), verb.name)(*given.values())
        return found

    kind = "string" if verb.takes is TEXT else "any"
    parameters = (Parameter(verb.parameter, kind, verb.about, required=True),) if verb.parameter else ()
    return Tool(verb.name, verb.about, parameters, "", verb.permission, call)


def _takes(verb: GraphVerb) -> Schema:
    return row({verb.parameter: verb.takes} if verb.parameter else {})


def _render(found: dict[str, Any]) -> str:
    """Return the text of an answer as the reference server writes it: a message, a list alone, or the graph."""
    if "message" in found:
        return str(found["message"])
    return json.dumps(found if len(found) > 1 else next(iter(found.values())), ensure_ascii=False, indent=2)
