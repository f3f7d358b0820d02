# The server: docker build -t memwarden . && docker compose --profile server up -d
# See docs/howto/serve-over-http.md before others can reach it.
FROM python:3.13-slim AS build
WORKDIR /build
COPY pyproject.toml hatch_build.py README.md LICENSE NOTICE ./
COPY scripts/package.json scripts/package-lock.json scripts/.npmrc scripts/place.mjs ./scripts/
COPY src ./src
RUN python -m venv /opt/memwarden && /opt/memwarden/bin/pip install --no-cache-dir '.[server,postgres,mcp,worker,otel]'

FROM python:3.13-slim
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/memwarden memwarden
COPY --from=build /opt/memwarden /opt/memwarden
ENV PATH=/opt/memwarden/bin:$PATH \
    MEMWARDEN_DB=sqlite:////var/lib/memwarden/memwarden.db \
    PYTHONUNBUFFERED=1
USER memwarden
WORKDIR /var/lib/memwarden
VOLUME /var/lib/memwarden
EXPOSE 8765
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/readyz', timeout=4)"]
# Others reach a container, so its store needs a key first: docker compose run --rm server memwarden key create
CMD ["memwarden", "serve", "--host", "0.0.0.0", "--port", "8765"]
