"""Settings: where they come from, and what is said when they are wrong."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from memwarden import settings as config
from memwarden.categories import read_categories
from memwarden.errors import InvalidConfig
from memwarden.recall.rank import combine


def test_flag_over_environment_over_file_over_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "memwarden.toml"
    file.write_text('embedder = "none"\nmax_text_bytes = 1000\nleave_out = ["on_day"]\n')
    monkeypatch.delenv("MEMWARDEN_EMBEDDER")
    monkeypatch.setenv("MEMWARDEN_MAX_TEXT_BYTES", "2000")
    monkeypatch.setenv("MEMWARDEN_SESSION_GAP_HOURS", "1.5")
    settings = config.load(file, session_gap_hours=2, index_bytes=None)
    assert (settings.embedder, settings.max_text_bytes, settings.session_gap_hours) == ("none", 2000, 2.0)
    assert settings.leave_out == ("on_day",)
    assert settings.index_bytes == config.Settings().index_bytes


def test_memwarden_toml_in_the_working_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMWARDEN_EMBEDDER")
    monkeypatch.chdir(tmp_path)
    assert config.load() == config.Settings()
    (tmp_path / "memwarden.toml").write_text('preset = "chat"\n')
    assert config.load().preset == "chat"


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"embeder": "none"}, "unknown setting 'embeder'; settings are: db, embedder"),
        ({"embedder": "gpt"}, "^embedder is auto, .*, openai or none, not 'gpt'$"),
        ({"preset": "forum"}, "^preset is auto, chat or assistant, not 'forum'$"),
        ({"leave_out": "on_day bm26"}, "a feature in leave_out is words, .* or about_others, not 'bm26'"),
        ({"leave_out": 3}, "leave_out is a list of texts, not 3"),
        ({"max_text_bytes": "big"}, "max_text_bytes is a whole number from 1, not 'big'"),
        ({"max_text_bytes": 0}, "max_text_bytes is a whole number from 1, not 0"),
        ({"extraction_turns": 2.9}, "extraction_turns is a whole number from 1, not 2.9"),
        ({"extraction_turns": "2.9"}, "extraction_turns is a whole number from 1, not '2.9'"),
        ({"events_days": 36_501}, "events_days is a whole number from 1 to 36,500, not 36501"),
        ({"session_gap_hours": True}, "session_gap_hours is a number above 0, not True"),
        ({"session_gap_hours": "nan"}, "session_gap_hours is a number above 0, not 'nan'"),
        ({"link_min": 1.1}, "link_min is a number from 0 to 1, not 1.1"),
        ({"db": 5}, "db is a text, not 5"),
        ({"categories": "nowhere.yaml"}, "cannot read the categories file 'nowhere.yaml'"),
    ],
)
def test_wrong_settings_are_named(values: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidConfig, match=says):
        config.settings_from(values)


@pytest.mark.parametrize("name", config.RULES)
def test_a_setting_of_a_wrong_type_is_refused_where_it_is_given(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in (object(), {"a": 1}, None, 2.5j):
        wrong_settings: dict[str, Any] = {name: wrong}
        with pytest.raises(InvalidConfig, match=f"^{name} is "):
            config.Settings(**wrong_settings)
    if config.RULES[name].kind in (int, float):
        monkeypatch.setenv(f"MEMWARDEN_{name.upper()}", "many")
        with pytest.raises(InvalidConfig, match=f"^{name} is .*, not 'many'$"):
            config.load()


def test_every_setting_has_a_rule() -> None:
    assert {setting.name for setting in fields(config.Settings)} == {
        *config.RULES,
        "categories",
        "extraction_instructions",
    }


def test_numbers_are_read_out_of_texts_and_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMWARDEN_EXTRACTION_TURNS", "7")
    monkeypatch.setenv("MEMWARDEN_SESSION_GAP_HOURS", "2")
    settings = config.load()
    assert (settings.extraction_turns, settings.session_gap_hours) == (7, 2.0)
    with pytest.raises(InvalidConfig, match=r"extraction_turns is a whole number from 1, not 2\.5"):
        config.Settings(extraction_turns=2.5)  # type: ignore[arg-type]
    (tmp_path / "memwarden.toml").write_text("extraction_turns = 2.9\n")
    monkeypatch.delenv("MEMWARDEN_EXTRACTION_TURNS")
    with pytest.raises(InvalidConfig, match=r"extraction_turns is a whole number from 1, not 2\.9"):
        config.load(tmp_path / "memwarden.toml")


def test_a_broken_settings_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "memwarden.toml"
    file.write_text("embedder = [")
    with pytest.raises(InvalidConfig, match=r"memwarden.toml' is not valid TOML"):
        config.load(file)
    with pytest.raises(InvalidConfig, match="cannot read"):
        config.load(tmp_path / "missing.toml")


def test_a_categories_file_that_unfolds_without_end_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "categories.yaml"
    levels = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))]
    file.write_text("\n".join(levels))
    with pytest.raises(InvalidConfig, match="references"):
        read_categories(file)


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
    assert categories.readable("planner", None) == (
        "goals",
        "tasks",
        "projects",
        "state",
        "procedural",
        "agent:planner",
    )
    assert categories.readable(None, None) is None


@pytest.mark.parametrize(
    ("content", "readable"),
    [
        (
            "categories:\n  system: [{name: profil}]\nallowlists:\n  pflege: [profil]\n",
            ("profil", "state", "procedural"),
        ),
        (
            "categories:\n  system: [{name: perfil}, {name: state}]\nallowlists:\n  cocina: [perfil]\n",
            ("perfil", "procedural"),
        ),
        ("allowlists:\n  nurse: [health]\n", ("health",)),
    ],
    ids=["neither is named", "one is named", "no system categories"],
)
def test_agents_of_a_file_keep_what_they_work_with(
    content: str, readable: tuple[str, ...], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "categories.yaml"
    file.write_text(content, encoding="utf-8")
    categories = read_categories(file)
    (agent,) = categories.allowlists
    assert categories.readable(agent, None) == (*readable, f"agent:{agent}")
    assert ("names no" in caplog.text) == (len(readable) > 1)


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
        ("allowlist: {planner: [tasks]}", "unknown key 'allowlist'; keys are: categories, allowlists"),
        ("1: {}", "unknown key '1'"),
        ("categories: {system: [{name: 'agent:x'}]}", "own category of an agent"),
        ("allowlists: {planner: [1]}", "non-empty text"),
    ],
)
def test_wrong_categories_are_named_with_their_place(tmp_path: Path, content: str, says: str) -> None:
    file = tmp_path / "categories.yaml"
    file.write_text(content)
    with pytest.raises(InvalidConfig, match=says):
        read_categories(file)


def test_the_named_features_are_those_of_the_score() -> None:
    signals = {name for weights in combine.CLOSENESS.values() for name in weights}
    others = {"assistant", "speaker", "on_day", "of_others", "about_others"}
    assert set(config.FEATURES) == {*signals, *combine.SHAPE, *others}


def test_references_in_a_categories_file_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "categories.yaml"
    doubled = "".join(f"l{number}: &l{number} [{', '.join([f'*l{number - 1}'] * 9)}]\n" for number in range(1, 10))
    file.write_text(f"l0: &l0 [x, x]\n{doubled}")
    with pytest.raises(InvalidConfig, match=r"uses references \(\*name\)"):
        config.settings_from({"categories": str(file)})
