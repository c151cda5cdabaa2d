# make test          everything, under the race detector
# make test-hours    the tests as if they were started at other hours, on other dates and in other zones
# make lint          what a reader would otherwise have to say
# make bench         the figures of bench/RESULTS.md; make bench-once runs each of them once, so that they never rot
# make build         one static binary, ./holdfast
# make cluster       two nodes, PostgreSQL, Redis and nginx on loopback, until Ctrl-C
# make pages         joins and compresses web/ui into web/pages/built, which is committed; after a change of web/ui, and a
#                    test says so

VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@2026.1
LDFLAGS     := -s -w -X main.version=$(VERSION)
# 28 MB, stripped. Past it, something has switched off the linker's pruning or a dependency was let in.
MAX_BINARY  := 28000000
# Two packages at a time: more only take turns on two cores, and tests that measure time then see each other.
PARALLEL    ?= 2

# What the race detector watches. SQLite is C brought into Go: it works on memory of its own, of which the detector knows nothing,
# and asking it at every access makes everything that has a database three times as slow. Its driver is watched.
RACE := -race -gcflags=modernc.org/sqlite/lib=-race=false

# The program is built without cgo, so that it is static; only the race detector needs it.
export CGO_ENABLED := 0

.PHONY: test test-hours vet lint bench bench-once build cluster pages pruned clean

test: vet
	@.ci/tools
	@if command -v gcc >/dev/null 2>&1 || command -v cc >/dev/null 2>&1; then \
	  echo 'go test -race ./...'; CGO_ENABLED=1 go test $(RACE) -timeout 25m -p $(PARALLEL) ./... && \
	  echo 'go test ./engine   in full, without the race detector: what does a part of it under it' && \
	  go test -run "$$(.ci/infull)" -timeout 10m ./engine; \
	else \
	  echo '!!! SKIPPED: the race detector. It needs a C compiler, and there is none.'; \
	  go test -timeout 25m -p $(PARALLEL) ./...; \
	fi

test-hours:
	.ci/hours

vet:
	go vet ./...

lint: vet
	@out=$$(git ls-files -co --exclude-standard '*.go' | xargs -r gofmt -l); \
	  if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi
	go run $(STATICCHECK) ./...
	go test -run 'TestFilesAreOneNoun|TestPackagesAreNouns|TestImportsPointOneWay|TestAThirdPartyModuleHasOneOwner' .

bench:
	@.ci/tools
	go test -run '^$$' -bench . -benchmem -timeout 60m -p 1 ./...

bench-once:
	go test -run '^$$' -bench . -benchtime 1x -timeout 20m -p 1 ./...

# What is embedded is committed: after a change of web/ui, `make pages` comes first.
build:
	go build -trimpath -ldflags '$(LDFLAGS)' -o holdfast .
	@size=$$(stat -c %s holdfast 2>/dev/null || stat -f %z holdfast); echo "holdfast: $$size bytes"; \
	  if [ $$size -gt $(MAX_BINARY) ]; then echo "the binary is larger than $(MAX_BINARY) bytes"; exit 1; fi
	@$(MAKE) --no-print-directory pruned

cluster: build
	deploy/cluster/run

pages:
	go generate ./web/pages

# One call of reflect's Method by a name that is not constant makes the linker keep every exported method.
pruned:
	@n=$$(go build -ldflags=-dumpdep -o /dev/null . 2>&1 | grep -c ReflectMethod || true); \
	  if [ "$$n" != 0 ]; then echo "method pruning is off: ReflectMethod appears $$n times in go build -ldflags=-dumpdep"; exit 1; fi

clean:
	rm -rf holdfast dist
