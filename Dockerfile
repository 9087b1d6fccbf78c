# docker build -t baton .
# docker run -p 4747:4747 -v baton:/var/lib/baton baton
#
# On first start the server prints an admin token once: see `docker logs`.
#
# Third-party crates are built in a layer of their own, from the manifests alone: a change of the
# source does not build them again.
FROM rust:1.95-slim AS manifests
WORKDIR /source
COPY . .
RUN scripts/manifests /manifests

FROM rust:1.95-slim AS build
WORKDIR /source
# Features that are off by default: s3, nats.
ARG FEATURES=""
COPY --from=manifests /manifests .
RUN cargo build --profile dist --locked --package baton-cli --features "$FEATURES"
COPY . .
# Cargo compares times, and the source is older than the build of the manifests.
RUN find . -path ./target -prune -o -name '*.rs' -exec touch {} + \
    && cargo build --profile dist --locked --package baton-cli --features "$FEATURES" \
    && install -D -m 755 target/dist/baton /out/baton

FROM debian:stable-slim
# Root certificates, to verify HTTPS endpoints: webhooks, object storage, collectors.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --system --uid 10001 --home-dir /var/lib/baton --shell /usr/sbin/nologin baton \
    && install -d -m 700 -o baton -g baton /var/lib/baton
COPY --from=build /out/baton /usr/local/bin/baton
USER baton
ENV BATON_DATA=/var/lib/baton/data \
    BATON_LISTEN=0.0.0.0:4747 \
    BATON_TOKENS=true \
    BATON_URL=http://127.0.0.1:4747
VOLUME /var/lib/baton
EXPOSE 4747
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s --retries=3 \
    CMD ["baton", "--quiet", "doctor", "--alive"]
ENTRYPOINT ["baton"]
CMD ["serve"]
