"""Clocks of phones in 25 languages, as CLDR spells them: each line is read, or counted as not read; none is glued."""

from __future__ import annotations

from pathlib import Path

import pytest

from memwarden import Warden

# Locale, head of a message at 17:46 of 20 December 2023, and at 5:46 of the next day, as CLDR's short forms write them.
SPELLINGS = [
    ("en-US", "12/20/23, 5:46\u202fPM - ", "12/21/23, 5:46\u202fAM - "),
    ("en-AU", "20/12/2023, 5:46 pm - ", "21/12/2023, 5:46 am - "),
    ("en-GB", "20/12/2023, 17:46 - ", "21/12/2023, 05:46 - "),
    ("iOS en", "[20/12/2023, 5:46:01\u202fPM] ", "[21/12/2023, 5:46:01\u202fAM] "),
    ("de", "20.12.23, 17:46 - ", "21.12.23, 05:46 - "),
    ("de-AT", "20.12.23 um 17:46 - ", "21.12.23 um 05:46 - "),
    ("es", "20/12/23, 17:46 - ", "21/12/23, 5:46 - "),
    ("es-MX", "20/12/23, 5:46 p.\u00a0m. - ", "21/12/23, 5:46 a.\u00a0m. - "),
    ("es-CO", "20/12/2023, 5:46 p. m. - ", "21/12/2023, 5:46 a. m. - "),
    ("fr", "20/12/2023 à 17:46 - ", "21/12/2023 à 05:46 - "),
    ("fr-CA", "2023-12-20 17 h 46 - ", "2023-12-21 05 h 46 - "),
    ("it", "20/12/23, 17:46 - ", "21/12/23, 05:46 - "),
    ("pt-BR", "20/12/2023 17:46 - ", "21/12/2023 05:46 - "),
    ("pt-PT", "20/12/23, 17:46 - ", "21/12/23, 05:46 - "),
    ("nl", "20-12-2023 17:46 - ", "21-12-2023 05:46 - "),
    ("sv", "2023-12-20 17:46 - ", "2023-12-21 05:46 - "),
    ("sv kl", "2023-12-20 kl. 17:46 - ", "2023-12-21 kl. 05:46 - "),
    ("da", "20.12.2023 17.46 - ", "21.12.2023 05.46 - "),
    ("fi", "20.12.2023 klo 17.46 - ", "21.12.2023 klo 5.46 - "),
    ("nb", "20.12.2023, 17:46 - ", "21.12.2023, 05:46 - "),
    ("pl", "20.12.2023, 17:46 - ", "21.12.2023, 05:46 - "),
    ("cs", "20.12.2023 17:46 - ", "21.12.2023 5:46 - "),
    ("cs halves", "20.12.23, 5:46 odp. - ", "21.12.23, 5:46 dop. - "),
    ("hu", "2023. 12. 20. 17:46 - ", "2023. 12. 21. 5:46 - "),
    ("hu halves", "2023. 12. 20. du. 5:46 - ", "2023. 12. 21. de. 5:46 - "),
    ("ro", "20.12.2023, 17:46 - ", "21.12.2023, 05:46 - "),
    ("bg", "20.12.23 г., 17:46 ч. - ", "21.12.23 г., 5:46 ч. - "),
    ("bg halves", "20.12.23 г., 5:46 сл.об. - ", "21.12.23 г., 5:46 пр.об. - "),
    ("el", "20/12/23, 5:46 μ.μ. - ", "21/12/23, 5:46 π.μ. - "),
    ("tr", "20.12.2023 17:46 - ", "21.12.2023 05:46 - "),
    ("tr halves", "20.12.2023 ÖS 5:46 - ", "21.12.2023 ÖÖ 5:46 - "),
    ("ru", "20.12.2023, 17:46 - ", "21.12.2023, 05:46 - "),
    ("uk", "20.12.23, 5:46 пп - ", "21.12.23, 5:46 дп - "),
    ("sq", "20.12.2023, 5:46 m.d. - ", "21.12.2023, 5:46 p.d. - "),
    ("ar", "20/12/2023، 5:46 م - ", "21/12/2023، 5:46 ص - "),
    ("ar digits", "٢٠/١٢/٢٠٢٣، ٥:٤٦ م - ", "٢١/١٢/٢٠٢٣، ٥:٤٦ ص - "),
    ("fa", "20/12/2023, 5:46 ب.ظ. - ", "21/12/2023, 5:46 ق.ظ. - "),
    ("fa words", "20/12/2023, 5:46 بعدازظهر - ", "21/12/2023, 5:46 قبل‌ازظهر - "),
    ("he", "20.12.2023, 17:46 - ", "21.12.2023, 5:46 - "),
    ("he halves", "20.12.2023, 5:46 אחה״צ - ", "21.12.2023, 5:46 לפנה״צ - "),
    ("hi", "20/12/23, 5:46 pm - ", "21/12/23, 5:46 am - "),
    ("ur", "20/12/23، 5:46 PM - ", "21/12/23، 5:46 AM - "),
    ("bn digits", "২০/১২/২৩, ৫:৪৬ PM - ", "২১/১২/২৩, ৫:৪৬ AM - "),
    ("ta", "20/12/23, 5:46 PM - ", "21/12/23, 5:46 AM - "),
    ("th", "20/12/2566 17:46 - ", "21/12/2566 05:46 - "),
    ("vi", "20/12/2023, 5:46 CH - ", "21/12/2023, 5:46 SA - "),
    ("id", "20/12/23 17.46 - ", "21/12/23 05.46 - "),
    ("ko", "2023. 12. 20. 오후 5:46 - ", "2023. 12. 21. 오전 5:46 - "),
    ("ja", "2023/12/20 17:46 - ", "2023/12/21 5:46 - "),
    ("ja halves", "2023/12/20 午後5:46 - ", "2023/12/21 午前5:46 - "),
    ("zh-TW", "2023/12/20 下午5:46 - ", "2023/12/21 上午5:46 - "),
    ("zh-TW parts", "2023/12/20 傍晚5:46 - ", "2023/12/21 清晨5:46 - "),
    ("zh-CN", "2023/12/20 17:46 - ", "2023/12/21 5:46 - "),
]


@pytest.mark.parametrize(("evening", "morning"), [row[1:] for row in SPELLINGS], ids=[row[0] for row in SPELLINGS])
def test_a_clock_is_read_or_counted(evening: str, morning: str, tmp_path: Path) -> None:
    file = tmp_path / "WhatsApp Chat.txt"
    file.write_text(f"{evening}Ana: one\n{morning}Bo: two\n", encoding="utf-8")
    with Warden.open("memory://", config={"embedder": "none", "extraction": "off"}) as warden:
        done = warden.import_files(file, user="ana")
        said = {item.text: item.created_at for item in warden.scope(user="ana").find({"channel": "turn"})}
    assert len(said) + len(done.refused) == 2
    assert set(said) <= {"one", "two"}
    for text, right in (("one", "2023-12-20T17:46"), ("two", "2023-12-21T05:46")):
        assert text not in said or said[text].isoformat()[:16] == right


def test_most_clocks_are_read(tmp_path: Path) -> None:
    unread = []
    with Warden.open("memory://", config={"embedder": "none", "extraction": "off"}) as warden:
        for number, (name, evening, morning) in enumerate(SPELLINGS):
            file = tmp_path / f"WhatsApp {number}.txt"
            file.write_text(f"{evening}Ana: one\n{morning}Bo: two\n", encoding="utf-8")
            if warden.import_files(file, user=f"ana-{number}").stored != 2:
                unread.append(name)
    assert unread == []
