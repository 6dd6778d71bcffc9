"""Networks as folders in a hub's layout: the same file, read wherever a network is named."""

import json
from pathlib import Path

import pytest

from tests.export.test_onnx_export import net_of
from vecchess.errors import ConfigError, NetworkError
from vecchess.export.hub_folder import export_hub
from vecchess.inference.source import find
from vecchess.snn.integer.net_file import load_net, save_net


def test_a_folder_is_read_as_the_network_it_was_made_of(tmp_path: Path) -> None:
    net, file, folder = net_of("graded"), tmp_path / "net.safetensors", tmp_path / "net-hub"
    save_net(net, file)
    assert export_hub(net, folder, "net") == file.stat().st_size
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["README.md", "config.json", "model.safetensors"]
    assert (folder / "model.safetensors").read_bytes() == file.read_bytes()
    assert load_net(folder).sha256 == find(str(folder)).load().sha256 == net.sha256
    config = json.loads((folder / "config.json").read_text())
    assert config["sha256"] == net.sha256
    assert config["config"] == net.config.facts()


def test_the_card_begins_with_yaml(tmp_path: Path) -> None:
    net = net_of("plain")
    export_hub(net, tmp_path / "a", "a: name", "gpl-3.0")
    _, front, text = (tmp_path / "a" / "README.md").read_text().split("---\n", 2)
    facts = {
        key: json.loads(value)  # JSON is YAML
        for key, value in (line.split(": ", 1) for line in front.splitlines())
    }
    assert (facts["license"], facts["library_name"]) == ("gpl-3.0", "vecchess")
    assert "chess" in facts["tags"]
    assert "# a: name" in text
    assert net.sha256 in text
    export_hub(net, tmp_path / "b", "b")
    assert "license" not in (tmp_path / "b" / "README.md").read_text()


def test_what_cannot_be_written_or_read(tmp_path: Path) -> None:
    net, folder = net_of("plain"), tmp_path / "hub"
    with pytest.raises(ConfigError, match="printable"):
        export_hub(net, folder, "two\nlines")
    assert not folder.exists()
    export_hub(net, folder, "net")
    with pytest.raises(ConfigError, match="is there already"):
        export_hub(net, folder, "net")
    (folder / "config.json").unlink()
    with pytest.raises(NetworkError, match="is a folder, not a network file"):
        load_net(folder)
