"""Variables in configuration values: ConfigTransformer and the three providers of Kafka."""

import pytest

from kafka_tools.errors import ConfigError
from kafka_tools.net.config_providers import (
    ConfigData,
    declared_providers,
    directory_provider,
    environment_provider,
    file_provider,
    transform,
)


class Recorder:
    def __init__(self, values, ttl_ms=None):
        self.values, self.ttl_ms, self.calls = values, ttl_ms, []

    def __call__(self, path, keys):
        self.calls.append((path, set(keys)))
        return ConfigData({key: self.values[key] for key in keys if key in self.values}, self.ttl_ms)


@pytest.mark.req("CP-1", "CP-3")
def test_path_is_optional_and_becomes_empty():
    provider = Recorder({"k": "v"})
    assert transform({"a": "${p:k}", "b": "${p:/x:k}"}, {"p": provider}).values == {"a": "v", "b": "v"}
    assert sorted(path for path, _ in provider.calls) == ["", "/x"]


@pytest.mark.req("CP-4")
def test_several_variables_and_the_text_around_them():
    values = transform({"a": "<${p:x:k}-${p:x:j}>"}, {"p": Recorder({"k": "1", "j": "2"})}).values
    assert values == {"a": "<1-2>"}


@pytest.mark.req("CP-5", "CP-16")
def test_each_path_is_read_once():
    provider = Recorder({"k": "1", "j": "2"})
    transform({"a": "${p:x:k}", "b": "${p:x:j}"}, {"p": provider})
    assert provider.calls == [("x", {"k", "j"})]


@pytest.mark.req("CP-6", "EASY-14")
def test_unknown_provider_and_unknown_key_stay_as_written():
    values = transform({"a": "${q:x:k}", "b": "${p:x:none}"}, {"p": Recorder({})}).values
    assert values == {"a": "${q:x:k}", "b": "${p:x:none}"}


@pytest.mark.req("CP-7", "EASY-14")
def test_replacement_is_not_expanded_again():
    assert transform({"a": "${p:k}"}, {"p": Recorder({"k": "${p:k}"})}).values == {"a": "${p:k}"}


@pytest.mark.req("CP-8", "CP-13")
def test_ttls_are_collected_when_set_and_not_negative():
    assert transform({"a": "${p:x:k}"}, {"p": Recorder({}, 5)}).ttls_ms == {"x": 5}
    assert transform({"a": "${p:x:k}"}, {"p": Recorder({}, -1)}).ttls_ms == {}
    assert transform({"a": "${p:x:k}"}, {"p": Recorder({})}).ttls_ms == {}


@pytest.mark.req("CP-9", "CP-10")
def test_originals_are_untouched_and_nulls_pass():
    original = {"a": "${p:k}", "b": None}
    result = transform(original, {"p": Recorder({"k": "v"})})
    assert result.values == {"a": "v", "b": None}
    result.values["a"] = "changed"
    assert original == {"a": "${p:k}", "b": None}


@pytest.mark.req("CP-2")
def test_pattern_may_cross_a_brace_as_kafka_s_does():
    # "x} ${file" is the provider that the pattern finds, and nobody has that name.
    assert transform({"a": "${x} ${p:x:k}"}, {"p": Recorder({"k": "v"})}).values == {"a": "${x} ${p:x:k}"}


@pytest.mark.req("CP-11", "CP-12")
def test_file_provider(tmp_path):
    file = tmp_path / "s.properties"
    file.write_text("k=schlüssel\n", encoding="utf-8")
    get = file_provider({})
    assert get(str(file), {"k", "absent"}).values == {"k": "schlüssel"}
    assert get("", {"k"}).values == {}
    with pytest.raises(ConfigError, match=r"Could not read properties from file /absent"):
        get("/absent", {"k"})


def test_file_provider_keeps_to_its_allowed_paths(tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "s").write_text("k=v")
    get = file_provider({"allowed.paths": str(inside)})
    assert get(str(inside / "s"), {"k"}).values == {"k": "v"}
    assert get(str(outside / "s"), {"k"}).values == {}
    assert get(f"{inside}/../out/s", {"k"}).values == {}


def test_directory_provider_reads_whole_files_of_that_directory_only(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "password").write_text("p w\n")
    (tmp_path / "secret").write_text("no")
    get = directory_provider({})
    assert get(str(tmp_path / "d"), {"password", "../secret", "absent"}).values == {"password": "p w\n"}


def test_environment_provider_and_its_allow_list():
    get = environment_provider({"allowlist.pattern": "KAFKA_.*"}, {"KAFKA_PW": "x", "HOME": "/"})
    assert get("", {"KAFKA_PW", "HOME", "KAFKA_NONE"}).values == {"KAFKA_PW": "x"}
    with pytest.raises(ConfigError, match=r"path is not supported"):
        get("/x", {"KAFKA_PW"})


def test_declared_providers_and_a_class_we_lack():
    settings = {
        "config.providers": "f, e",
        "config.providers.f.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "config.providers.e.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    }
    assert sorted(declared_providers(settings)) == ["e", "f"]
    with pytest.raises(ConfigError, match=r"com\.example\.Vault: expected one of FileConfigProvider"):
        declared_providers({"config.providers": "v", "config.providers.v.class": "com.example.Vault"})
