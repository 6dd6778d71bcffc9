"""What a text like that of ``--net`` names, and the network of it.

    default                        the network that comes with vecchess
    small.safetensors              a network file, or a folder in the layout of the hub
    tiny, sizes.toml               a new network of a preset or of the sizes in a file, its weights
                                   drawn from the seed
    module:package.module:make     a module of the user (``networks.module_spec``), with settings
    lc0:maia-1100.pb.gz            a network of lc0; "lc0:" may be left out before .pb.gz
    constant, material             built in, without weights

A file, or a folder with a network, that is named like a preset goes before it. docs/networks.md
says the same to users.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vecchess.config import BUILT_IN_NETS, DEFAULT_NET
from vecchess.networks.module_spec import MODULE, ModuleSpec
from vecchess.snn.integer.net_file import load_exact, load_net, missing_net, net_path
from vecchess.snn.presets import PRESETS, SIZES_SUFFIX
from vecchess.spec import Spec

if TYPE_CHECKING:  # kernels come with it, which the UCI engine does without as it starts
    from vecchess.inference.playable_net import PlayableNet

Kind = Literal["built-in", "module", "lc0", "sizes", "preset", "file"]
LC0, LC0_SUFFIX = "lc0:", ".pb.gz"


@dataclass(frozen=True)
class Source:
    """Where a network comes from."""

    text: str
    kind: Kind

    @property
    def module(self) -> ModuleSpec:
        """The module of a source of that kind; raises ConfigError where it is not understood."""
        assert self.kind == "module"
        return ModuleSpec.parse(self.text)

    @property
    def spec(self) -> Spec:
        """The text as a head and settings, which only a module has; raises ConfigError."""
        return Spec.parse(self.text) if self.kind == "module" else Spec(self.text)

    @property
    def has_sizes_only(self) -> bool:
        """Whether it is a preset or a file of sizes, of which a new network is made."""
        return self.kind in ("preset", "sizes")

    @property
    def is_new(self) -> bool:
        """Whether its weights have yet to be drawn. Raises ConfigError, as ``module``."""
        is_module = self.kind == "module"
        return self.has_sizes_only or (is_module and self.module.weights is None)

    @property
    def file(self) -> Path | None:
        """The file with a network of vecchess's own, None where the source is no such file."""
        path = net_path(self.text) if self.kind == "file" else None
        return path if path is not None and path.is_file() else None

    @property
    def short_name(self) -> str:
        """Its name for people: of a module the last part of its factory's, else its file's."""
        if self.kind == "module":
            return self.module.name.rpartition(".")[2]
        return Path(self.text.removeprefix(LC0).removesuffix(".gz")).stem

    def check_name(self) -> None:
        """Raise NetworkError where there is no such file, ConfigError for a module that is not
        understood; no file is opened."""
        if self.kind == "module":
            _ = self.module
        elif self.kind == "file" and self.file is None:
            names = () if os.sep in self.text else (DEFAULT_NET, *BUILT_IN_NETS, *PRESETS)
            raise missing_net(net_path(self.text), names)

    def check(self) -> None:
        """Raise what ``load`` would, without making a new network, which takes seconds, and
        NetworkError for a file whose network is not exact."""
        if self.has_sizes_only:
            from vecchess.snn.create import sizes_of

            sizes_of(self.text)
        elif self.kind == "file" and self.file is not None:
            load_exact(self.text)
        else:
            self.load()

    def load(self, seed: int = 0) -> "PlayableNet":
        """The network; a new one has weights from ``seed``.

        Raises NetworkError where it is missing or will not do, ConfigError for sizes or a module
        that will not do.
        """
        if self.kind == "built-in":
            from vecchess.inference.playable_net import BuiltInNet

            return BuiltInNet(self.text)
        if self.kind == "module":
            from vecchess.networks.module_net import create_module_net

            return create_module_net(self.text, seed)
        if self.kind == "lc0":
            from vecchess.inference.playable_net import Lc0Net
            from vecchess.lc0.weights_file import load_weights

            return Lc0Net(load_weights(self.text.removeprefix(LC0)))
        if self.kind == "file":
            if os.sep not in self.text:
                self.check_name()  # its error says which names there are besides
            return load_net(self.text)
        from vecchess.snn.create import create_network

        return create_network(self.text, seed)

    def with_weights_of(self, file: Path) -> "Source":
        """The network kept in ``file`` by a run that began with this one: that file, or the module
        with the file as its weights."""
        if self.kind == "module":
            return Source(str(self.module.with_weights(file.absolute())), "module")
        return Source(str(file), "file")


def find(text: str) -> Source:
    """What ``text`` names; whether it is there shows when it is checked or loaded."""
    kind: Kind = "file"
    if text.startswith(MODULE):
        kind = "module"
    elif text.startswith(LC0) or text.endswith(LC0_SUFFIX):
        kind = "lc0"
    elif text in BUILT_IN_NETS:
        kind = "built-in"
    elif Path(text).suffix == SIZES_SUFFIX:
        kind = "sizes"
    elif text in PRESETS and not net_path(text).is_file():
        kind = "preset"
    return Source(text, kind)
