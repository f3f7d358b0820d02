"""Settings: where they come from, and what is said when they are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memwarden import settings as config
from memwarden.categories import read_categories
from memwarden.errors import InvalidConfig
from memwarden.recall.rank import features, score


def test_flag_over_environment_over_file_over_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "memwarden.toml"
    file.write_text('embedder = "none"\nmax_text_bytes = 1000\nleave_out = ["on_date"]\n')
    monkeypatch.setenv("MEMWARDEN_MAX_TEXT_BYTES", "2000")
    monkeypatch.setenv("MEMWARDEN_SESSION_GAP_HOURS", "1.5")
    settings = config.load(file, session_gap_hours=2, index_bytes=None)
    assert (settings.embedder, settings.max_text_bytes, settings.session_gap_hours) == ("none", 2000, 2.0)
    assert settings.leave_out == ("on_date",)
    assert settings.index_bytes == config.Settings().index_bytes


def test_memwarden_toml_in_the_working_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert config.load() == config.Settings()
    (tmp_path / "memwarden.toml").write_text('preset = "chat"\n')
    assert config.load().preset == "chat"


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"embeder": "none"}, "unknown setting 'embeder'; settings are: db, embedder"),
        ({"embedder": "gpt"}, "unknown embedder 'gpt'; use one of: wordllama, minilm, openai, none"),
        ({"preset": "forum"}, "unknown preset 'forum'"),
        ({"leave_out": "on_date bm26"}, "unknown feature 'bm26'"),
        ({"leave_out": 3}, "takes a list of texts"),
        ({"max_text_bytes": "big"}, "'max_text_bytes' takes int, not 'big'"),
        ({"max_text_bytes": 0}, "max_text_bytes must be above 0"),
        ({"session_gap_hours": True}, "takes float"),
        ({"categories": "nowhere.yaml"}, "cannot read the categories file 'nowhere.yaml'"),
    ],
)
def test_wrong_settings_are_named(values: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidConfig, match=says):
        config.settings_from(values)


def test_a_broken_settings_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "memwarden.toml"
    file.write_text("embedder = [")
    with pytest.raises(InvalidConfig, match=r"memwarden.toml' is not valid TOML"):
        config.load(file)
    with pytest.raises(InvalidConfig, match="cannot read"):
        config.load(tmp_path / "missing.toml")


def test_design_bs_yaml_is_valid_as_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "categories.yaml"
    file.write_text(
        """
categories:
  system:
    - name: profile
      context: all
    - name: event
      context: rag
      rag_length: 30
    - name: activity
      context: rag
      rag_length: 50
  custom: []
allowlists:
  supervisor: [profile, goals, preferences, event, activity, relationships, tasks]
  planner:    [goals, tasks, projects]
"""
    )
    categories = read_categories(file)
    assert categories.declared["profile"].always
    assert categories.declared["event"].rag_length == 30
    assert categories.declared["projects"].name == "projects"  # declared by the allowlist that uses it
    assert categories.readable("planner", None) == ("goals", "tasks", "projects")
    assert categories.readable(None, None) is None


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[1, 2]", "must hold a mapping"),
        ("categories: [", "not valid YAML"),
        ("categories: {team: []}", "'system' and 'custom', not 'team'"),
        ("categories: {system: {name: x}}", "must be a list"),
        ("categories: {system: [profile]}", r"system\[0\] must be a mapping"),
        ("categories: {system: [{name: ''}]}", "non-empty text"),
        ("categories: {system: [{name: x, colour: red}]}", "unknown key 'colour'"),
        ("categories: {system: [{name: x, context: some}]}", "context is 'all' or 'rag'"),
        ("categories: {system: [{name: x, rag_length: 0}]}", "at least 1"),
        ("categories: {system: [{name: x, context: all, rag_length: 3}]}", "goes with context 'rag'"),
        ("categories: {system: [{name: x}, {name: x}]}", "declared twice"),
        ("allowlists: {planner: tasks}", "must be a list"),
        ("allowlists: {planner: [1]}", "non-empty text"),
    ],
)
def test_wrong_categories_are_named_with_their_place(tmp_path: Path, content: str, says: str) -> None:
    file = tmp_path / "categories.yaml"
    file.write_text(content)
    with pytest.raises(InvalidConfig, match=says):
        read_categories(file)


def test_the_named_features_are_those_of_the_score() -> None:
    weighted = {feature.__name__ for preset in score.PRESETS.values() for feature in preset} - {"base"}
    assert set(config.FEATURES) - {"word_pieces"} == weighted | {feature.__name__ for feature in features._BASE}
    assert set(config.PRESETS) == {"auto", *score.PRESETS}
