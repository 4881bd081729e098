"""
Contracts of import-linter that know how the package is cut: by feature into rooms, and inside a room by layer.

A module's room is the folder that it is in, below `gatepost`. Its layer is the last word of its name:
`inbox/item_rows.py` has rows, `plans/actions.py` has actions; whatever is in a folder `background` runs in the
background; a module with another last word has records and rules. pyproject.toml gives the rooms in their order, the
layers in theirs, and the folders and modules that are of another layer than their name says.

    room_order        a room imports only rooms that come before it
    layers_by_name    a module imports only modules of its own layer and of lower ones, in any room
    pure_layers       modules of these layers import none of the forbidden modules
    small_rooms       no folder has more files than that

import-linter's own contracts match whole names, not last words.
"""

from collections import Counter
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output
from importlinter.application import contract_utils

ROOT = "gatepost"
#: the layer of a module whose name does not say one
RECORDS = "records"


def get_room(module: str) -> str:
    """Return the room of a module, or the module itself if it lies in the root."""
    return module.split(".")[1] if module != ROOT else ROOT


class LinkContract(Contract):
    """A contract about single imports: `find_broken` yields each import that breaks it, and why."""

    ignore_imports: Any = fields.SetField(subfield=fields.ImportExpressionField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002 (as the base class has it)
        removal = contract_utils.remove_ignored_imports_and_report(
            graph=graph,
            ignore_imports=self.ignore_imports,
            unmatched_alerting=contract_utils.AlertLevel.ERROR,
        )
        broken = [
            f"{importer} -> {imported} (line {self._find_line(graph, importer, imported)}): {reason}"
            for importer in sorted(graph.modules)
            if importer.partition(".")[0] == ROOT
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if (reason := self.explain(importer, imported))
        ]
        broken += self.list_other_faults(graph)
        return ContractCheck(
            kept=not broken, metadata={"broken": broken}, ignored_import_count=removal.ignored_import_count
        )

    def explain(self, importer: str, imported: str) -> str | None:
        """Return why a module may not import another, or None if it may."""
        raise NotImplementedError

    def list_other_faults(self, graph: ImportGraph) -> list[str]:  # noqa: ARG002
        return []

    def render_broken_contract(self, check: ContractCheck) -> None:
        for line in check.metadata["broken"]:
            output.print_error(line)

    @staticmethod
    def _find_line(graph: ImportGraph, importer: str, imported: str) -> int:
        return graph.get_import_details(importer=importer, imported=imported)[0]["line_number"]


class RoomOrderContract(LinkContract):
    """`rooms` lists the rooms, a line each, the lowest first; rooms of one line do not import each other."""

    rooms: Any = fields.ListField(subfield=fields.StringField())
    #: modules that may import any room: the doors
    free_modules: Any = fields.ListField(subfield=fields.StringField(), required=False, default=[])

    def validate(self) -> None:
        self._ranks = {room: rank for rank, line in enumerate(self.rooms) for room in line.split(" | ")}

    def explain(self, importer: str, imported: str) -> str | None:
        room, other = get_room(importer), get_room(imported) if imported.startswith(ROOT) else ROOT
        if ROOT in (room, other) or room == other or self._is_free(importer):
            return None
        if self._ranks.get(room, 0) > self._ranks.get(other, 0):
            return None
        return f"`{room}` does not come after `{other}`"

    def list_other_faults(self, graph: ImportGraph) -> list[str]:
        rooms = {get_room(module) for module in graph.modules if module.partition(".")[0] == ROOT} - {ROOT}
        missing = [f"`{room}` has no place in the order of rooms" for room in sorted(rooms - set(self._ranks))]
        return missing + [f"there is no room `{room}`" for room in sorted(set(self._ranks) - rooms)]

    def _is_free(self, module: str) -> bool:
        return module in self.free_modules or module.rpartition(".")[2].rpartition("_")[2] == "commands"


class LayerContract(LinkContract):
    """What the two contracts about layers share: how the layer of a module is found."""

    #: the names of layers, the lowest first
    layers: Any = fields.ListField(subfield=fields.StringField())
    #: `folder or module = layer`, below the root; `-` for one that is of no layer
    others: Any = fields.ListField(subfield=fields.StringField(), required=False, default=[])

    def validate(self) -> None:
        self._others = dict(line.split(" = ") for line in self.others)

    def find_layer(self, module: str) -> str | None:
        parts = module.split(".")[1:]
        if module.partition(".")[0] != ROOT or not parts:
            return None
        for length in range(len(parts), 0, -1):
            if layer := self._others.get(".".join(parts[:length])):
                return None if layer == "-" else layer
        if "background" in parts:
            return "background"
        word = parts[-1].rpartition("_")[2]
        return word if word in self.layers else RECORDS


class LayersByNameContract(LayerContract):
    def explain(self, importer: str, imported: str) -> str | None:
        layer, other = self.find_layer(importer), self.find_layer(imported)
        if layer is None or other is None or self.layers.index(layer) >= self.layers.index(other):
            return None
        return f"{layer} are below {other}"


class PureLayersContract(LayerContract):
    pure_layers: Any = fields.ListField(subfield=fields.StringField())
    forbidden_modules: Any = fields.ListField(subfield=fields.StringField())

    def explain(self, importer: str, imported: str) -> str | None:
        if imported not in self.forbidden_modules or self.find_layer(importer) not in self.pure_layers:
            return None
        return f"{self.find_layer(importer)} are pure"


class SmallRoomsContract(LinkContract):
    limit: Any = fields.IntegerField()

    def explain(self, importer: str, imported: str) -> str | None:  # noqa: ARG002
        return None

    def list_other_faults(self, graph: ImportGraph) -> list[str]:
        modules = [module for module in graph.modules if module.startswith(f"{ROOT}.")]
        packages = {module.rpartition(".")[0] for module in modules}
        counts = Counter(module if module in packages else module.rpartition(".")[0] for module in modules)
        return [
            f"{name} has {n} files; {self.limit} are allowed" for name, n in sorted(counts.items()) if n > self.limit
        ]
