"""Secrets of command lines, mark-up and talk are taken out; what looks alike stays."""

from __future__ import annotations

import pytest

from memwarden import redact

SECRETS = {
    "curl -u ana:hunter22x https://api.example": "hunter22x",
    "sshpass -p 'q7Rt!mm2' ssh ana@host": "q7Rt!mm2",
    "mysql -u root -pTiger99x shop": "Tiger99x",
    "<db><password>tigerlily</password></db>": "tigerlily",
    "pw = 'sommer wind'": "sommer wind",
    "aws_secret_access_key = /Abc1Def2Ghi3Jkl4Mno5Pqr6Stu7Vwx8Yz9a+bc": "/Abc1Def2Ghi3Jkl4Mno5Pqr6Stu7Vwx8Yz9a+bc",
    "My password is brass-otter-window-nine.": "brass-otter-window-nine",
    "Your verification code is 482 913.": "482 913",
    "My PUK is 48291377": "48291377",
    "backup codes: k3j9-22xp 7fh2-q0zz": "7fh2-q0zz",
    "private key: 0x" + "1f" * 32: "1f" * 32,
    "redis-cli -h cache -a 7fernHill ping": "7fernHill",
    "echo Walnut.9x | sudo -S reboot": "Walnut.9x",
    "machine git.example login ana password q8Heron#": "q8Heron#",
    "db.example:5432:shop:ana:Birch_77": "Birch_77",
    '<add key="MailPassword" value="Marble_run4" />': "Marble_run4",
    "My password is, by the way, still Heron1972, sorry.": "Heron1972",
    "For the bank I use Otter&Fern as my password.": "Otter&Fern",
    "the password is fern dash rain dash two": "fern dash rain",
    "448210 is your Otter verification code.": "448210",
    "Ihre TAN lautet 448213 und gilt kurz.": "448213",
    "Tu código de verificación es 448 213": "448 213",
    "您的验证码为448213,请勿泄露": "448213",
    "code de ma carte bleue : 4821": "4821",
    "SIM-PIN 4821 steht auf dem Kärtchen": "4821",
    "otpauth://totp/x:ana?secret=JBSWY3DPEHPK3PXP&issuer=x": "JBSWY3DPEHPK3PXP",
    "The authenticator's manual key is 3rr5 dolj esta kxpx iivf": "dolj esta",
    "my wallet words: apple brave cliff drama eagle fancy giant happy ivory jelly koala lemon": "eagle fancy giant",
    "clave privada de la cartera: " + "2e" * 32: "2e" * 32,
    "https://cal.example/ics?private=05cda177a6f29f6bc5f8becaf7cac15e": "05cda177a6f29f6b",
    "Integration: abc_K9vWoIeeTaw3zZtnOeuGVFfBn4W14AdU": "K9vWoIeeTaw3",
    "Authorization: SSWS 00bRt5YhJd9teyw9tppM4Va6ewfrltpi": "00bRt5YhJd9teyw9",
    "putenv('SMTP_PASSWORD', 'Lark7!moss')": "Lark7!moss",
    "códigos de respaldo: 4410 9921; 8821 0034; 7710 5529": "8821 0034",
    "Sicherheitsfrage Haustier, meine Antwort ist Murkel77": "Murkel77",
    "I unlock the tablet with Plum!Kite77 every day": "Plum!Kite77",
    "Die Passphrase lautet kamel regen dachstuhl flieder": "kamel regen",
    "Entro con Lago$Verde88 come password": "Lago$Verde88",
    "我换了密码,新的是xiaoma7Fei9": "xiaoma7Fei9",
    "codice home banking: 551920": "551920",
    "mot de passe wifi : mango-31-sun": "mango-31-sun",
    "contraseña wifi: mango-31-sun": "mango-31-sun",
    "Passwort WLAN: mango-31-sun": "mango-31-sun",
    "senha Wi-Fi: mango-31-sun": "mango-31-sun",
    "wachtwoord wifi: mango-31-sun": "mango-31-sun",
    "пароль wifi: mango-31-sun": "mango-31-sun",
    "mot de passe Wi\u2011Fi : mango-31-sun": "mango-31-sun",
    "password guest wifi: mango-31-sun": "mango-31-sun",
    "password wifi 5G: mango-31-sun": "mango-31-sun",
    "Passwort fürs WLAN: mango-31-sun": "mango-31-sun",
    "Send it to DE89 3704 0044 0532 0130 00, please.": "3704 0044",
}


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_gone(text: str) -> None:
    assert SECRETS[text] not in redact(text).text


@pytest.mark.parametrize(
    "text",
    [
        "The door code is 4821 and the locker is 17.",
        "The home wifi is called Otter.",
        "wifi: mango-31-sun",
        "The password wifi page is slow.",
        "password old guest wifi: mango-31-sun",
        "my wifi password is under the router lol",
        "mon mot de passe est entre deux livres",
        "curl -u prints nothing here",
        "Our zip code is 48291, the error code 404.",
        "Tan et al. (2022) say so; her tan faded by 2019.",
        "The password manager is 1Password and the ticket OPS-4471.",
        "My wallet was in the jacket that is hanging at home behind the door of the kitchen.",
        "The wallet says that the words apple and pear were in the list and that I was right.",
        "Hold the pin for 10 seconds; pin 13 is the lamp.",
        "The code of the locker is 4821, the promo code SUMMER24.",
        "A well-known-fact is that mysql -p asks for it.",
        "DE89 3704 0044 0532 0130 01 has a typing error.",
    ],
)
def test_what_looks_alike_stays(text: str) -> None:
    assert redact(text).text == text
