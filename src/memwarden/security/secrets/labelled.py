"""Finds secrets by what stands beside them: commands that take a password, codes that expire, phrases of wallets.

Each rule is a word of the text in lower case that has to stand there, a pattern, and a kind; the pattern's group is
the secret. Patterns are bounded, so that a long text takes time in proportion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from memwarden.security.secrets.providers import SecretSpan, entropy
from memwarden.text.language import lower_in_place

_VALUE: Final = r"['\"]?([^\s'\"]{3,200})"
# Programs that take a password behind a flag.
_FLAGS: Final = (
    ("redis-cli", "-a"),
    ("openssl", "-k"),
    ("openssl", "-pass pass:"),
    ("docker login", "-p"),
    ("podman login", "-p"),
    ("ldapsearch", "-w"),
    ("ldapmodify", "-w"),
    ("mosquitto_", "-P"),
    ("sqlcmd", "-P"),
    ("mongo", "-p"),
    ("zip", "-P"),
    ("7z", "-p"),
    ("ipmitool", "-P"),
    ("cqlsh", "-p"),
    ("clickhouse", "--password"),
    ("svn", "--password"),
    ("az login", "-p"),
    ("plink", "-pw"),
    ("pscp", "-pw"),
    ("schtasks", "/rp"),
)
_LABEL: Final = r"(?:secret|credential|private|privat|token|api|key|schlüssel|clave|clé|chave|chiave|ключ|密钥|キー)"
_PRIVATE_KEY: Final = (
    r"(?:private[ _-]?key|private[rn]? schlüssel|clave privada|clé privée|chave privada|chiave privata|"
    r"(?:приватн|закрыт)\w{2} ключ|私钥|私鑰|秘密鍵|개인 ?키)"
)
_CODE_WORDS: Final = (
    r"(?:one[ -]time|verification|security|sms|otp|2fa|log-?in|sign-?in|confirmation|authentication|einmal-?|"
    r"verifizierungs-?|bestätigungs-?|sicherheits-?|anmelde-?)[ -]?(?:pass)?codes?",
    r"(?-i:\b(?:[a-z]{1,5}-?|[A-Z]{1,5}-)?TAN)\b",
    r"c[óo]digo (?:de )?(?:acceso|verificaci[óo]n|confirmaci[óo]n|seguridad|un solo uso|acesso|verificaç[ãa]o|"
    r"confirmaç[ãa]o|segurança)",
    r"code (?:de |d')?(?:confirmation|vérification|sécurité|validation|connexion)|code à usage unique",
    r"codice (?:di )?(?:conferma|verifica|sicurezza|accesso)",
    r"код\w{0,2} (?:подтверждения|доступа|безопасности|для входа|из смс|из sms)",
    r"(?:验证|驗證|动态|動態|校验)(?:码|碼)|(?:認証|確認|検証)コード|ワンタイムパスワード|인증 ?(?:번호|코드)",
    r"(?:doğrulama|onay) kodu|verificatiecode|inlogcode|bevestigingscode|kod (?:weryfikacyjny|potwierdzający|sms)",
)
_DIGITS: Final = r"(\d{3}[ -]\d{3,4}|\d{4,8})(?![.:/-]?\d)"
_CARD: Final = (
    r"(?:carte (?:bleue|bancaire|de crédit)|(?:ec|bank|giro|kredit)-?karten?|(?:bank|debit|credit) card|tarjeta|"
    r"(?:online|telefon|telephone|phone|mobile|e)[- ]?banking|banque en ligne|banca (?:en línea|online|telefónica)|"
    r"home banking|интернет-банк\w{0,2}|网上银行|ネットバンキング|"
    r"carta di credito|bancomat|cartão|банковск\w{2} карт\w|"
    r"银行卡|"
    r"信用卡|キャッシュカード|체크카드|banka kart\w{1,3})"
)
# Lists of codes for a day without the phone.
_LISTED: Final = ("code", "código", "codici", "код", "码", "コード")
_LIST_OF_CODES: Final = (
    r"(?:(?:backup|recovery|ersatz|notfall|wiederherstellungs|reserve)[ -]?codes?|"
    r"c[óo]digos de (?:respaldo|recuperaci[óo]n|recuperação|backup|reserva|emergencia)|"
    r"codes de (?:secours|récupération|sauvegarde)|codici (?:di )?(?:backup|recupero|riserva|emergenza)|"
    r"(?:резервн|запасн)\w{2,3} код\w{0,2}|(?:备用|恢复)(?:验证)?[码碼]|(?:バックアップ|リカバリー|回復)コード)"
)
_CODES_IN_A_ROW: Final = (
    r"(?:\d{1,2}[.)] ?)?(?=[a-z-]{0,12}\d)[a-z0-9]{4,12}(?:[ -][a-z0-9]{4,12})?"
    r"(?:[,;/|\s、]{1,3}(?:\d{1,2}[.)] ?)?(?=[a-z-]{0,12}\d)[a-z0-9]{4,12}(?:-[a-z0-9]{4,12})?){1,40}"
)
_QUESTION: Final = (
    r"(?:security question|secret question|sicherheitsfrage|pregunta (?:de seguridad|secreta)|"
    r"question (?:secrète|de sécurité)|domanda (?:di sicurezza|segreta)|pergunta (?:de segurança|secreta)|"
    r"(?:контрольн|секретн)\w{2} вопрос|密保|安全问题|秘密の質問)"
)
_ANSWER: Final = r"(?:answer|antwort|respuesta|réponse|risposta|resposta|ответ|答案|答え)"
_RULES: Final[tuple[tuple[str, str, str], ...]] = (
    *((name, rf"(?i:\b{name})[^\n|;&]{{0,120}}?\s{flag}[ =]?{_VALUE}", "password") for name, flag in _FLAGS),
    ("net use", rf"(?i)\bnet use\s[^\n]{{0,120}}?/user:\S{{1,80}}\s{{1,3}}(?!/){_VALUE}", "password"),
    (
        "securestring",
        rf"(?i)\bConvertTo-SecureString\s{{1,3}}(?:-String\s{{1,3}})?[\"'](?!\$){_VALUE}[\"']",
        "password",
    ),
    ("net use", rf"(?i)\bnet use\s[^\n]{{0,80}}?\\\\\S{{1,80}}\s{{1,3}}(?!/){_VALUE}", "password"),
    (
        "setx",
        rf"(?i)\bsetx\s{{1,3}}(?:/m\s{{1,3}})?\w{{0,40}}(?:pass|pwd|secret|token|key)\w{{0,20}}\s{{1,3}}(?![%$]){_VALUE}",
        "password",
    ),
    ("chpasswd", rf"(?i)\bchpasswd\s{{0,3}}<<<\s{{0,3}}['\"]?[\w.-]{{1,60}}:{_VALUE}", "password"),
    (
        "chpasswd",
        r"(?i)\becho\s{1,3}['\"]?[\w.-]{1,60}:([^\s'\"|]{3,100})['\"]?\s{0,3}\|\s{0,3}(?:sudo )?chpasswd",
        "password",
    ),
    ("sudo", r"\becho\s{1,3}['\"]?([^\s'\"|]{3,100})['\"]?\s{0,3}\|\s{0,3}sudo\s{1,3}-S\b", "password"),
    ("htpasswd", r"\bhtpasswd\s{1,3}-\w{0,5}b\w{0,5}\s{1,3}\S{1,200}\s{1,3}\S{1,60}\s{1,3}" + _VALUE, "password"),
    ("smbclient", r"\bsmbclient\s[^\n]{0,120}?-U\s{0,3}['\"]?[^\s%'\"]{1,60}%([^\s'\"]{3,100})", "password"),
    (
        "value",
        r"(?i)(?:key|name|id)\s?=\s?[\"'][\w.:-]{0,40}(?:password|passwd|pwd|secret|passphrase|api_?key)[\"']"
        r"\s[^<>]{0,60}?\bvalue\s?=\s?[\"']([^\"'<>${}]{3,200})[\"']",
        "password",
    ),
    *(
        (
            word,
            r"(?i)\b(?:define|setenv|putenv|set\w{0,20}|put|env)\(\s{0,3}[\"'][\w.-]{0,40}(?:pass(?:word|wd|phrase)?|pwd|"
            r"secret|token|salt|api_?key|auth_?key)[\w.-]{0,20}[\"']\s{0,3},\s{0,3}[\"']([^\"'<>${}\n]{4,200})[\"']",
            "password",
        )
        for word in ("pass", "pwd", "secret", "token", "salt", "key")
    ),
    *(
        (word, rf"(?i){_LIST_OF_CODES}[^\n:：\d]{{0,30}}[:：]?\s{{0,3}}({_CODES_IN_A_ROW})", "recovery-code")
        for word in _LISTED
    ),
    *(
        (
            word,
            rf"(?i){_QUESTION}[^\n]{{0,80}}?\b{_ANSWER}[^\n.:：]{{0,20}}?(?:\b(?:is|ist|es|est|was|war)\s|[è:：]\s?|это\s)"
            r"[\"'«„“]?([^\s\"'»“”.,;]{3,40})",
            "password",
        )
        for word in ("question", "frage", "pregunta", "domanda", "pergunta", "вопрос", "密保", "安全问题", "秘密の質問")
    ),
    ("password", r"(?i)\blogin\s{1,20}\S{1,100}\s{1,20}password\s{1,20}(\S{3,200})", "password"),
    (
        ":",
        r"(?<![\w.:/-])(?:[\w.-]{1,80}|\*):(?:\d{2,5}|\*):(?:[\w-]{1,60}|\*):(?:[\w-]{1,60}|\*):([^\s:/]{4,100})",
        "password",
    ),
    ("private-lines", r"Private-Lines: \d{1,3}((?:\r?\n[A-Za-z0-9+/=]{1,80}){1,60})", "private-key"),
    ("private-mac", r"Private-MAC: ([0-9a-f]{32,80})", "private-key"),
    (
        "=",
        r"(?i)[?&](?:[\w-]{0,20}-)?(?:private|token|access_token|auth|key|secret|sig|signature|password|pwd)="
        r"([\w%.~-]{16,500})",
        "url-token",
    ),
    ("otpauth", r"(?i)otpauth://[^\s?]{1,200}\?[^\s]{0,200}?secret=([a-z2-7]{16,64})", "totp-seed"),
    ("-", r"(?<!\d)(\d{6}(?:-\d{6}){7})(?!\d)", "recovery-key"),
    *(
        (word, rf"(?i){_PRIVATE_KEY}[^\n]{{0,60}}?\b((?:0x)?[0-9a-f]{{64}})(?![0-9a-f])", "private-key")
        for word in ("private", "privat", "priv", "ключ", "私", "秘密鍵", "개인")
    ),
    *(
        (
            word,
            r"(?i)(?:authenticator|totp|2fa|mfa|otp|manual key|setup key|setup-?schlüssel)[^\n]{0,50}?"
            r"(?<![a-z0-9])((?:[a-z2-7]{4}[ -]){3,15}[a-z2-7]{4}|(?-i:[A-Z2-7]{16,64}))(?![A-Za-z0-9])",
            "totp-seed",
        )
        for word in ("authenticator", "totp", "2fa", "mfa", "otp", "manual key", "setup")
    ),
    ("is your", rf"(?i)\b(?:[a-z]-)?{_DIGITS} is your [^\n.]{{0,40}}?(?:code|otp|pin|password)\b", "one-time-code"),
    ("код", r"(?i)\bкод\w{0,2} (\d{4,8}) (?:для входа|подтвержд\w+|доступа)", "one-time-code"),
    *(
        (word, rf"(?i)(?:{pattern})[^\n\d]{{0,25}}{_DIGITS}", "one-time-code")
        for word, pattern in zip(("code", "tan", "digo", "code", "codice", "код", "", "kod"), _CODE_WORDS, strict=True)
    ),
    (
        "",
        r"\b(?:PIN|PUK2?|CVV2?|CVC2?|ПИН)(?:-?(?:Code|code|Nummer|код))?\b[^\n\d.!?]{0,30}?(\d{3,8})(?![.:/-]?\d)",
        "pin",
    ),
    (
        "",
        rf"(?i)\b(?:code|pin|código|codice|код|geheimzahl|kod\w?)\b[^\n\d.!?]{{0,20}}{_CARD}[^\n\d.!?]{{0,15}}(\d{{4,6}})(?!\d)",
        "pin",
    ),
    (
        "",
        rf"(?i){_CARD}[^\n\d.!?]{{0,20}}(?:code|pin|código|codice|код|geheimzahl|密码|密碼|暗証番号|비밀번호)[^\n\d.!?]{{0,15}}(\d{{4,6}})(?!\d)",
        "pin",
    ),
    ("digits", r"(?i)\b(?:three|last|3) digits on (?:the|its) back [^\n\d]{0,15}(\d{3,4})(?!\d)", "pin"),
    ("karte", r"(?i)kartenprüf(?:nummer|ziffer)[^\n\d]{0,15}(\d{3,4})(?!\d)", "pin"),
)
_COMPILED: Final = tuple((word, re.compile(pattern), kind) for word, pattern, kind in _RULES)

# Tokens that a provider's prefix begins: nobody writes words so.
_PREFIXED: Final = re.compile(
    r"(?<![A-Za-z0-9_/=.+-])(?!pk_|pub_)[a-z]{2,10}[_-](?:[a-z]{2,8}[_-])?([A-Za-z0-9]{28,120})(?![A-Za-z0-9_/=-])"
)
_RUN: Final = re.compile(r"(?<![A-Za-z0-9+/_=.-])[A-Za-z0-9+/_-]{32,120}={0,2}(?![A-Za-z0-9+/_=-])")
_NAMED: Final = re.compile(
    rf"(?i)(?:{_LABEL}[^\n]{{0,60}}|\b(?:log-?in|auth\w*|\w{{0,20}}client)\b[ \t(=:'\"]{{1,4}})$"
)
_PUBLIC: Final = re.compile(
    r"(?i)(?:public|öffentlich|ssh-\w{2,10}|sha\d{1,3}|md5|hash|fingerprint|integrity|https?:)[^\n]{0,40}$"
)
_MIN_ENTROPY: Final = 4.0
_BEFORE: Final = 70

# A password that is said with words between its name and itself, before its name, or with its signs spelled.
_PASSWORD: Final = (
    r"(?:pass(?:word|wort|code|phrase)|kennwort|contraseña|clave|mot de passe|parola|senha|парол[ья]|wachtwoord|hasło|"
    r"şifre\w{0,3}|비밀번호|密码|密碼|パスワード)"
)
_SAID: Final = re.compile(rf"(?i){_PASSWORD}((?:[ ,:'’]{{1,2}}[^\W\d_]{{1,20}}){{0,7}}[ ,:'’]{{1,3}})(\S{{6,60}})")
_IS: Final = re.compile(r"(?i)(?:\b(?:is|s|ist|war|was|lautet|es|era|est|è|é|это|был|to)\b|^ $)")
_USED_AS: Final = re.compile(
    rf"(?i)(?<!\S)(\S{{6,60}}) (?:as|als|como|comme|come|jako|как) "
    rf"(?:(?:my|the|our|meine?|mi|mon|mia|minha|mijn|a|un|una) )?"
    rf"(?:\w{{1,20}} ){{0,2}}{_PASSWORD}"
)
_SPELLED: Final = re.compile(
    rf"(?i){_PASSWORD}[^\n.!?]{{0,30}}?\b(?:is|ist|es|est|è|é) ((?:[^\W_]{{1,20}} "
    r"(?:dash|hyphen|underscore|dot|bindestrich|unterstrich|punkt|guion|tiret|trattino) ){1,8}[^\W_]{1,20})"
)
# Where somebody logs in, what ties the value to it, and a value that is no name: it is judged by its signs.
_LOGS_IN: Final = re.compile(
    r"(?i)(?:\b(?:log(?:s|ged)?[ -]?in|sign(?:s|ed)?[ -]?in|unlocks?|account|konto|"
    r"anmelden?|melde|einloggen|logge|entsperr\w{1,3}|"
    r"compte|connecte[rz]?|déverrouill\w{1,3}|cuenta|inicio sesión|iniciar sesión|entro en|desbloque\w{1,3}|"
    r"accedo|accesso|accedere|sblocc\w{1,3}|conta|entro n[oa]|acesso)\b|"
    r"вхо(?:жу|д)\b|аккаунт|登录|登錄|账号|ログイン)"
    r"[^\n!?]{0,60}?(?:\b(?:with|then|is|reads|types?|enter|using|mit|lautet|ist|tippe|avec|est|tapez|tape|con|es|com|é|è|tecleo|digito)\b"
    r"|\bс\b|(?:паролем)|用|是|は)[ :]{0,2}[\"'„“«`]?([!-~À-ÿ]{8,60})"
)
_CHANGED: Final = re.compile(
    r"(?:密码|密碼|口令|パスワード|비밀번호)[^\n。！？]{0,20}?(?:是|为|為|成|用|は|を|に|：|:)\s?([!-~]{6,60})"
)
_SPOKEN: Final = re.compile(
    r"(?i)(?:pass[ -]?(?:phrase|satz)|frase (?:de contraseña|segreta|de paso)|phrase de passe|frase-senha|"
    r"парольная фраза)[^\n.!?]{0,40}?(?:\b(?:is|it's|it’s|ist|lautet|es|est|c'est|è|é)\b:?|:|это)\s"
    r"[\"'„“«]?((?-i:[a-zà-ÿа-я]{3,14} ){3,7}(?-i:[a-zà-ÿа-я]{3,14}))[\"'“”»]?(?=[.,;!\n]|$)"
)
_NAME_OR_SIZE: Final = re.compile(
    r"[A-Z]{2,}-?\d+|\d+[^\W\d_]*|[^\W\d_]{2,}\d{1,2}|[^\W\d_]+-\d{1,3}|\S*(?:[/\\(=<>{}:]|@\w+\.)\S*"
)

_MADE_UP: Final = re.compile(
    r"(?=.*\d)(?=.*[^\W\d_])(?:.*[!#$%^&*+=?~].|.*[a-zà-ÿ][A-Z].*\d|.*[A-Z]{1,3}[a-z]*[.-].*\d\d$)|[a-z][A-Z].*[!#$%^&*+=?~]"
)
_LIKE_AN_ADDRESS: Final = re.compile(r"@\w+\.|[/\\(){}<>\[\]|]|\.(?:com|org|net|example|pdf|txt|py|json)$")

_PHRASE_LABEL: Final = re.compile(
    r"(?i)(?:\bseed\b|wallet|mnemonic|recovery (?:phrase|words)|secret (?:phrase|words)|backup (?:phrase|words)|"
    r"wiederherstellungs(?:phrase|wörter)|(?:frase|palabras) (?:de )?(?:recuperación|semilla)|phrase de récupération|"
    r"frase (?:di recupero|seme)|frase de recuperação|(?:фраз\w|слов\w{0,2}) (?:для )?восстановлени\w|сид-?фраз\w|"
    r"助记词|助記詞|リカバリーフレーズ|복구 ?(?:문구|단어)|kurtarma kelimeleri|herstelzin)"
)
_WORDS_IN_A_ROW: Final = re.compile(r"(?:[^\W\d_]{3,12}[ ,\n]{1,3}(?:\d{1,2}[.)] ?)?){11,23}[^\W\d_]{3,12}")
# Words that no list of wallets holds, and hardly a sentence does without.
_FUNCTION_WORDS: Final = frozenset(
    """the and was were are has have had for from with not but his her she our your its who when which der die das und
    ist war ein eine mit von für auf nicht que los las una por con para del les des une dans pour est sur che non per
    una gli com uma não para het een van niet""".split()
)
_MAX_FROM_LABEL: Final = 60

# Without any of these an ASCII text holds no word for a password, or for the words of a wallet.
_PASSWORD_STEMS: Final = ("pass", "kennwort", "clave", "mot de passe", "parola", "senha", "wachtwoord")
_PHRASE_STEMS: Final = tuple("seed wallet mnemonic recovery phrase words frase palabras kurtarma herstelzin".split())


def find_labelled(text: str) -> Iterator[SecretSpan]:
    """Yield every secret that its neighbourhood gives away; spans may overlap."""
    lower = lower_in_place(text)
    for word, pattern, kind in _COMPILED:
        if word in lower:
            yield from (SecretSpan(*match.span(1), kind) for match in pattern.finditer(text))
    if _may_hold(text, lower, _PASSWORD_STEMS):
        yield from _said_passwords(text)
    yield from _passwords_of_accounts(text)
    yield from _made_tokens(text)
    if _may_hold(text, lower, _PHRASE_STEMS):
        yield from _wallet_phrases(text)


def _may_hold(text: str, lower: str, stems: Sequence[str]) -> bool:
    return not text.isascii() or any(stem in lower for stem in stems)


def _said_passwords(text: str) -> Iterator[SecretSpan]:
    for match in _SAID.finditer(text):
        value = match.group(2).rstrip(".,;!?)'\"’”")
        if _IS.search(match.group(1)) and _is_strong(value):
            yield SecretSpan(match.start(2), match.start(2) + len(value), "password")
    for match in _USED_AS.finditer(text):
        if _is_strong(match.group(1)):
            yield SecretSpan(*match.span(1), "password")
    for match in _CHANGED.finditer(text):
        if _is_strong(match.group(1)):
            yield SecretSpan(*match.span(1), "password")
    yield from (SecretSpan(*match.span(1), "password") for match in _SPELLED.finditer(text))
    for match in _SPOKEN.finditer(text):
        if _FUNCTION_WORDS.isdisjoint(match.group(1).lower().split()):
            yield SecretSpan(*match.span(1), "password")


def _passwords_of_accounts(text: str) -> Iterator[SecretSpan]:
    """Passwords that are not called so: what somebody logs in with."""
    for match in _LOGS_IN.finditer(text):
        value = match.group(1).rstrip(".,;!?)'\"’”»")
        if _is_strong(value) and _MADE_UP.search(value) and not _LIKE_AN_ADDRESS.search(value):
            yield SecretSpan(match.start(1), match.start(1) + len(value), "password")


def _is_strong(value: str) -> bool:
    """Whether no word, name or size is written so: letters with digits or signs among them."""
    inner = value[1:-1]
    signs = any(sign in "!@#$%^&*+=?~_" for sign in inner) or any(map(str.isdigit, value))
    return len(value) >= 6 and signs and any(map(str.isalpha, value)) and not _NAME_OR_SIZE.fullmatch(value)


def _made_tokens(text: str) -> Iterator[SecretSpan]:
    """Long runs of signs that a machine made: behind a prefix, or behind a word for a secret."""
    for match in _PREFIXED.finditer(text):
        if _is_mixed(match.group(1)):
            yield SecretSpan(*match.span(), "token")
    for match in _RUN.finditer(text):
        before = text[max(0, match.start() - _BEFORE) : match.start()]
        if _is_mixed(match.group()) and _NAMED.search(before) and not _PUBLIC.search(before):
            yield SecretSpan(*match.span(), "api-key")


def _is_mixed(run: str) -> bool:
    kinds = (str.isdigit, str.isupper, str.islower)
    return all(any(map(kind, run)) for kind in kinds) and entropy(run) >= _MIN_ENTROPY


def _wallet_phrases(text: str) -> Iterator[SecretSpan]:
    for label in _PHRASE_LABEL.finditer(text):
        begin = label.end()
        for match in _WORDS_IN_A_ROW.finditer(text, begin, begin + 500):
            words = re.findall(r"[^\W\d_]+", match.group())
            if match.start() - begin > _MAX_FROM_LABEL:
                break
            if _FUNCTION_WORDS.isdisjoint(word.lower() for word in words):
                yield SecretSpan(*match.span(), "seed-phrase")
                break
