"""Hadoop's ``*-site.xml`` files: read them, write them.

Values stay as written (``${…}`` unresolved), so that a file read and written again means the same elsewhere.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path

import msgspec

from yarnspec.errors import UsageError

_INCLUDE = "{http://www.w3.org/2001/XInclude}include"
_MAX_SITE_FILE_BYTES = 16 * 1024 * 1024


class Property(msgspec.Struct, frozen=True):
    """One property of a site file; ``final`` ones cannot be overridden by files that are read later."""

    name: str
    value: str
    final: bool = False


def read_site_file(path: Path) -> list[Property]:
    """The properties of one file in file order, those of local ``xi:include`` files in their place."""
    return _read(path, seen=())


def _read(path: Path, seen: tuple[Path, ...]) -> list[Property]:
    if path in seen:
        raise UsageError(f"{path} includes itself; take the xi:include out of it.")
    try:
        if path.stat().st_size > _MAX_SITE_FILE_BYTES:
            raise UsageError(f"{path} is too large for a Hadoop configuration file.")
        text = path.read_bytes()
    except OSError as error:
        raise UsageError(f"Cannot read the Hadoop configuration file {path}: {error.strerror}.") from error
    if b"<!ENTITY" in text:
        # An entity declaration is the one way in which a configuration file could pull in or blow up what it is not.
        raise UsageError(f"{path} declares XML entities, which yarnspec does not read; write the values out.")
    try:
        root = ET.fromstring(text)  # noqa: S314 - entity declarations were refused above
    except ET.ParseError as error:
        raise UsageError(f"{path} is not well-formed XML: {error}.") from error
    properties: list[Property] = []
    for element in root:
        if element.tag == "property":
            found = _property(element)
            if found is not None:
                properties.append(found)
        elif element.tag == _INCLUDE:
            properties.extend(_included(path, element, (*seen, path)))
    return properties


def _included(path: Path, element: ET.Element, seen: tuple[Path, ...]) -> list[Property]:
    target = path.parent / element.get("href", "").removeprefix("file://")
    if not target.is_file() and len(element):
        return []  # an xi:fallback: Hadoop reads on without the file
    return _read(target, seen)


def _property(element: ET.Element) -> Property | None:
    # Hadoop takes child elements and, as a short form, attributes of the same names.
    fields = dict(element.attrib)
    for child in element:
        # Hadoop trims the name but keeps a value's white space; blank lines around a value are never meant, though.
        fields[child.tag] = (child.text or "").strip()
    name = fields.get("name", "").strip()
    if not name or "value" not in fields:
        return None
    return Property(name, fields["value"], fields.get("final", "").strip() == "true")


def render_site_file(properties: Iterable[Property]) -> bytes:
    """A site file with these properties."""
    root = ET.Element("configuration")
    for item in properties:
        element = ET.SubElement(root, "property")
        ET.SubElement(element, "name").text = item.name
        ET.SubElement(element, "value").text = item.value
        if item.final:
            ET.SubElement(element, "final").text = "true"
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'.encode()
