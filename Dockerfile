# A release sets GO_IMAGE to the tag with its digest (docs/install.md). It is the only image that this file names.
ARG GO_IMAGE=golang:1.26
FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/holdfast . \
 && mkdir -p /out/etc/ssl/certs && cp /etc/ssl/certs/ca-certificates.crt /out/etc/ssl/certs/ \
 && mkdir -p /owned && mkdir -m 0700 /owned/data && mkdir -m 0700 /owned/tmp

# The image contains only the binary, the certificate authorities for outgoing calls, and two writable directories.
FROM scratch
COPY --from=build /out/ /
COPY --from=build --chown=65532:65532 /owned/ /
ARG VERSION=dev
LABEL org.opencontainers.image.title="Holdfast" \
      org.opencontainers.image.description="Appointment server in one binary" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
USER 65532:65532
ENV HOLDFAST_LISTEN=0.0.0.0:8788 HOLDFAST_DATA=/data
VOLUME ["/data"]
EXPOSE 8788
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 CMD ["/holdfast", "healthcheck"]
ENTRYPOINT ["/holdfast"]
