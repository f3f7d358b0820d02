"""Short texts in old encodings are read in the one that they were written in."""

from __future__ import annotations

import pytest

from memwarden.remember.imports.encodings import detect_encoding

TEXTS = {
    "cp932": ["今日は雨です。", "鍵は物置の青い箱にあります。", "ハサミはどこ？"],
    "euc_jp": ["鍵は物置の青い箱にあります。", "明日は晴れでしょう。"],
    "gb18030": ["钥匙在蓝色的盒子里。", "明天下雨。", "妈妈的生日是五月三日。"],
    "big5": ["鑰匙在藍色的盒子裡。", "明天下雨。"],
    "cp949": ["열쇠는 파란 상자에 있다.", "내일은 비."],
    "cp1251": ["Ключ лежит в синем ящике.", "Завтра дождь.", "Ключ у синій скрині."],
    "koi8-r": ["Ключ лежит в синем ящике.", "ЗАВТРА ДОЖДЬ"],
    "cp1253": ["Το κλειδί είναι στο μπλε κουτί."],
    "cp1255": ["המפתח בקופסה הכחולה."],
    "cp1256": ["المفتاح في الصندوق الأزرق."],
    "cp874": ["กุญแจอยู่ในกล่องสีน้ำเงิน"],
    "cp1254": [
        "Anahtar mutfaktaki çekmecede.",
        "Şemsiyem ofiste kaldı, yağmur yağıyor.",
        "Kızımın doğum günü üç Mayıs.",
        "İstanbul'da görüşürüz.",
    ],
    "cp1250": ["Żółta łódź stoi w porcie.", "Kulcs a kék ládában, a fürdőben.", "Příští středu přijde řidič."],
    "cp1257": ["Raktas yra mėlynoje dėžėje, šalia šulinio."],
    "cp1252": [
        "Der Schlüssel hängt in der Küche.",
        "La clé est à côté du four.",
        "¿Dónde está la niña?",
        "„Schlüssel“ – Küche für 5 €",
        "A chave está no galpão, não na cozinha.",
        "Nøglen ligger på køkkenbordet.",
        "Lykillinn er í eldhúsinu hjá Þóru.",
    ],
}


@pytest.mark.parametrize(("encoding", "text"), [(name, text) for name, texts in TEXTS.items() for text in texts])
def test_a_short_text_is_read_as_it_was_written(encoding: str, text: str) -> None:
    data = text.encode(encoding)
    detected = detect_encoding(data)
    assert detected is not None
    assert data.decode(detected) == text


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_a_byte_order_mark_counts_first(mark: str) -> None:
    data = ("\ufeff" + "Küche").encode(mark)
    assert data.decode(str(detect_encoding(data))).lstrip("\ufeff") == "Küche"


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\0\1\2\xff"])
def test_binary_data_is_no_text(data: bytes) -> None:
    assert detect_encoding(data) is None
