"""Made-up secrets in real formats, in sentences, code and logs; made from a seed each time, so none stands in a file.

The formats are written from what the services say of theirs (prefix, alphabet, length, checksum), not from our rules.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Chance = random.Random
ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
URL_SAFE = ALNUM + "-_"
BASE32 = string.ascii_uppercase + "234567"
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


@dataclass(frozen=True, slots=True)
class Case:
    """A text, the secret in it that must not be left, and the format it has."""

    text: str
    secret: str
    format: str


def some(chance: Chance, signs: str, count: int) -> str:
    return "".join(chance.choice(signs) for _ in range(count))


def uuid(chance: Chance) -> str:
    return "-".join(some(chance, HEX, count) for count in (8, 4, 4, 4, 12))


def github(prefix: str) -> Callable[[Chance], str]:
    """Thirty random signs, and the CRC-32 of them in base 62."""

    def make(chance: Chance) -> str:
        body = some(chance, ALNUM, 30)
        number, check = zlib.crc32(body.encode()), ""
        for _ in range(6):
            number, place = divmod(number, 62)
            check = BASE62[place] + check
        return prefix + body + check

    return make


def fixed(prefix: str, signs: str, count: int, end: str = "") -> Callable[[Chance], str]:
    return lambda chance: prefix + some(chance, signs, count) + end


def jwt(chance: Chance) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    claims = {"sub": some(chance, string.digits, 10), "name": "Ada", "iat": 1_700_000_000 + chance.randrange(10**7)}
    return f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part(claims)}.{some(chance, URL_SAFE, 43)}"


def private_key(kind: str) -> Callable[[Chance], str]:
    def make(chance: Chance) -> str:
        lines = "\n".join(some(chance, ALNUM + "+/", 64) for _ in range(chance.randint(4, 24)))
        return (
            f"-----BEGIN {kind}PRIVATE KEY-----\n{lines}\n{some(chance, ALNUM, 22)}==\n-----END {kind}PRIVATE KEY-----"
        )

    return make


def wallet_key(chance: Chance) -> str:
    body = b"\x80" + chance.randbytes(32) + b"\x01"
    body += hashlib.sha256(hashlib.sha256(body).digest()).digest()[:4]
    number, text = int.from_bytes(body, "big"), ""
    while number:
        number, place = divmod(number, 58)
        text = BASE58[place] + text
    return text


def card(prefix: str, count: int, groups: tuple[int, ...], between: str) -> Callable[[Chance], str]:
    def make(chance: Chance) -> str:
        digits = prefix + some(chance, string.digits, count - len(prefix) - 1)
        twice = [int(sign) * (2 if place % 2 == 0 else 1) for place, sign in enumerate(reversed(digits))]
        digits += str(-sum(number // 10 + number % 10 for number in twice) % 10)
        parts, at = [], 0
        for size in groups:
            parts.append(digits[at : at + size])
            at += size
        return between.join(parts)

    return make


def password(chance: Chance) -> str:
    word = chance.choice(("tiger", "Winter", "blue", "Sonne", "lisboa", "Dragon", "coffee", "maman"))
    return (
        word
        + chance.choice("!#$_-") * chance.randint(0, 1)
        + str(chance.randint(10, 9999))
        + chance.choice(("", "!", "X", "qz"))
    )


def strong_password(chance: Chance) -> str:
    return chance.choice(string.ascii_letters) + some(chance, ALNUM + "!#$%^*_+=", 12) + chance.choice(string.digits)


WORDS = (
    "abandon ability able about above absent absorb abstract absurd abuse access accident account accuse achieve "
    "acid acoustic "
    "acquire across act action actor actress actual adapt add addict address adjust admit adult advance"
).split()

# What shows by itself in any text: the format, and how one is made.
TOKENS: dict[str, Callable[[Chance], str]] = {
    "aws access key id": fixed("AKIA", BASE32, 16),
    "aws temporary key id": fixed("ASIA", BASE32, 16),
    "github personal": github("ghp_"),
    "github oauth": github("gho_"),
    "github server": github("ghs_"),
    "github fine-grained": lambda chance: f"github_pat_{some(chance, ALNUM, 22)}_{some(chance, ALNUM, 59)}",
    "gitlab personal": fixed("glpat-", URL_SAFE, 20),
    "slack bot": lambda c: f"xoxb-{some(c, string.digits, 12)}-{some(c, string.digits, 13)}-{some(c, ALNUM, 24)}",
    "slack user": lambda c: "xoxp-" + "-".join(some(c, string.digits, 12) for _ in range(3)) + "-" + some(c, HEX, 32),
    "slack webhook": lambda c: (
        f"https://hooks.slack.com/services/T{some(c, UPPER, 8)}/B{some(c, UPPER, 10)}/{some(c, ALNUM, 24)}"
    ),
    "stripe live": fixed("sk_live_", ALNUM, 24),
    "stripe long": lambda c: f"sk_live_51{some(c, ALNUM, 97)}",
    "stripe restricted": fixed("rk_live_", ALNUM, 24),
    "stripe webhook": fixed("whsec_", ALNUM, 32),
    "openai project": lambda c: f"sk-proj-{some(c, URL_SAFE, 74)}T3BlbkFJ{some(c, URL_SAFE, 74)}",
    "openai old": lambda c: f"sk-{some(c, ALNUM, 20)}T3BlbkFJ{some(c, ALNUM, 20)}",
    "anthropic": fixed("sk-ant-api03-", URL_SAFE, 93, "AA"),
    "openrouter": fixed("sk-or-v1-", HEX, 64),
    "deepseek": fixed("sk-", HEX, 32),
    "groq": fixed("gsk_", ALNUM, 52),
    "xai": fixed("xai-", ALNUM, 80),
    "google api": fixed("AIzaSy", URL_SAFE, 33),
    "google client secret": fixed("GOCSPX-", URL_SAFE, 28),
    "google oauth": fixed("ya29.a0", URL_SAFE, 120),
    "huggingface": fixed("hf_", string.ascii_letters, 34),
    "npm": github("npm_"),
    "pypi": fixed("pypi-AgEIcHlwaS5vcmc", URL_SAFE, 150),
    "digitalocean": fixed("dop_v1_", HEX, 64),
    "docker hub": fixed("dckr_pat_", URL_SAFE, 27),
    "sendgrid": lambda c: f"SG.{some(c, URL_SAFE, 22)}.{some(c, URL_SAFE, 43)}",
    "twilio": fixed("SK", HEX, 32),
    "telegram bot": lambda c: f"{some(c, '123456789', 10)}:AA{some(c, URL_SAFE, 33)}",
    "discord webhook": lambda c: f"https://discord.com/api/webhooks/{some(c, '123456789', 18)}/{some(c, URL_SAFE, 68)}",
    "shopify": fixed("shpat_", HEX, 32),
    "databricks": fixed("dapi", HEX, 32),
    "notion": lambda c: f"ntn_{some(c, string.digits, 11)}{some(c, ALNUM, 35)}",
    "linear": fixed("lin_api_", LOWER, 40),
    "vault": fixed("hvs.", URL_SAFE, 95),
    "grafana": lambda c: f"glsa_{some(c, ALNUM, 32)}_{some(c, HEX, 8)}",
    "postman": lambda c: f"PMAK-{some(c, HEX, 24)}-{some(c, HEX, 34)}",
    "figma": fixed("figd_", URL_SAFE, 40),
    "supabase": fixed("sbp_", HEX, 40),
    "azure client secret": lambda c: f"{some(c, ALNUM, 3)}8Q~{some(c, ALNUM, 34)}",
    "atlassian": lambda c: f"ATATT3{some(c, URL_SAFE, 186)}",
    "jwt": jwt,
    "rsa private key": private_key("RSA "),
    "openssh private key": private_key("OPENSSH "),
    "pkcs8 private key": private_key(""),
    "bitcoin wallet": wallet_key,
    "age": fixed("AGE-SECRET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    "visa card": card("4", 16, (4, 4, 4, 4), " "),
    "mastercard": card("53", 16, (16,), ""),
    "american express": card("37", 15, (4, 6, 5), "-"),
    "discover card": card("6011", 16, (4, 4, 4, 4), "-"),
}
AROUND = (
    "Can you check why {} does not work any more?",
    "I pasted it here: {}. Please keep it for later.",
    "ok so use ({}), it is the one of the staging server",
    "Hier ist er: {}, bitte nicht weitergeben.",
    "Voici la valeur : {} ; merci de la garder.",
    "Este es el valor: {}\nGracias.",
    "вот он: {} — не потеряй",
    "这是我的密钥：{}。请帮我配置。",
    "これを使ってください：{}。よろしくお願いします。",
    "هذا هو {} من فضلك لا تشاركه",
    'const config = {{ value: "{}", retries: 3 }};',
    "2025-03-04T10:22:31Z ERROR upstream rejected value={} status=401 request=17",
    "export VALUE='{}'\nmake deploy",
    '{{"value":"{}","region":"eu-west-1"}}',
    "| staging | {} | ops |",
)
# What shows only because it is said to be one. {} is the secret.
NAMED: dict[str, tuple[Callable[[Chance], str], tuple[str, ...]]] = {
    "password said": (
        password,
        (
            "My password is {}, in case I forget it.",
            "my wifi password is {} by the way",
            "the password for the guest network is {}",
            'Remember this: the Netflix password is "{}".',
            "Mein Passwort ist {}.",
            "Das Kennwort lautet {}",
            "Mi contraseña es {}, no la olvides.",
            "La clave del wifi es {}.",
            "Mon mot de passe est {}.",
            "Le mot de passe pour le serveur est {}",
            "La mia password è {}.",
            "A minha senha é {}, ok?",
            "Мой пароль {}, запомни.",
            "Пароль от почты: {}",
            "我的密码是{}，请记住。",
            "密码：{}",
            "パスワードは{}です。",
            "كلمة المرور الخاصة بي هي {}",
            "Mijn wachtwoord is {}.",
            "비밀번호는 {} 입니다",
        ),
    ),
    "password assigned": (
        strong_password,
        (
            "DB_PASSWORD={}",
            "password: {}",
            'db.connect(user="root", password="{}")',
            '{{"username": "ada", "password": "{}"}}',
            "mysql --user=root --password={} shop",
            "spring.datasource.password = {}",
            "Server=db.example.com;Database=shop;User Id=sa;Password={};Encrypt=true",
            "curl -d 'user=ada&passwd={}' https://example.com/login",
        ),
    ),
    "connection string": (
        lambda c: some(c, ALNUM + "!$*_-", 14),
        (
            "postgres://app:{}@db.internal:5432/shop",
            "Use mongodb+srv://root:{}@cluster0.abcde.mongodb.net/test please.",
            "REDIS_URL=redis://:{}@cache:6379/0",
            "amqp://guest:{}@rabbit.example.com:5672/%2f",
            "git clone https://deploy:{}@git.example.com/shop.git",
        ),
    ),
    "aws secret key": (
        lambda c: some(c, ALNUM + "+/", 40),
        (
            "aws_secret_access_key = {}",
            'AWS_SECRET_ACCESS_KEY="{}"',
            "and the secret access key is {}",
            '"SecretAccessKey": "{}",',
        ),
    ),
    "api key named": (
        lambda c: some(c, LOWER, 32),
        (
            "my API key is {}",
            "api_key={}",
            "X-Api-Key: {}",
            "Mein API-Schlüssel ist {}.",
            "La clé API est {}",
            "мой ключ API: {}",
            "API密钥是{}",
            'client_secret: "{}"',
            "access_token={}&expires=3600",
        ),
    ),
    "bearer": (
        lambda c: some(c, URL_SAFE, 40),
        ("Authorization: Bearer {}", "curl -H 'Authorization: Bearer {}' https://a.b/c"),
    ),
    "basic": (
        lambda c: base64.b64encode(f"ada:{strong_password(c)}".encode()).decode(),
        ("Authorization: Basic {}", 'headers = {{"Authorization": "Basic {}"}}'),
    ),
    "cookie": (lambda c: some(c, ALNUM, 32), ("Cookie: sessionid={}; theme=dark", "Set-Cookie: PHPSESSID={}; path=/")),
    "azure storage": (
        lambda c: base64.b64encode(c.randbytes(64)).decode(),
        ("DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={};EndpointSuffix=core.windows.net",),
    ),
    "heroku": (uuid, ("HEROKU_API_KEY={}", "heroku_token: {}")),
    "pin": (
        lambda c: some(c, string.digits, 4),
        ("my PIN is {}", "the PIN of my card is {}", "PIN: {}", "CVV {}".replace(" ", ": "), "暗証番号は{}です"),
    ),
    "seed phrase": (
        lambda c: " ".join(c.sample(WORDS, 12)),
        ("My seed phrase is {}", "recovery phrase: {}", 'mnemonic = "{}"'),
    ),
}


def cases(seed: int = 20250304, each: int = 6) -> Iterator[Case]:
    """``each`` texts for every format that shows alone, and every template of those that are named."""
    chance = Chance(seed)
    for name, make in TOKENS.items():
        for around in chance.sample(AROUND, each):
            secret = make(chance)
            yield Case(around.format(secret), secret, name)
    for name, (make, templates) in NAMED.items():
        for template in templates:
            secret = make(chance)
            yield Case(template.format(secret), secret, name)
