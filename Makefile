# make quick         go vet and the short tests of what has changed, in under a minute: no server, no browser, no race detector
# make test          the whole suite, with the race detector, Chromium, PostgreSQL and Redis; .ci/run adds Firefox and the long tests
# make test-hours    the tests as if they were started at other hours, on other dates and in other zones
# make lint          what a reader would otherwise have to say; make types is the part of it about the pages' JavaScript
# make format        formats the pages' JavaScript with Prettier, if the built pages stay the same; make lint checks it
# make bench         the figures of bench/RESULTS.md; make bench-once runs each of them once, so that they never rot
# make curves        how the figures grow with their quantity: holds, subscribers, appointments, specialists; an hour, and 3 GB of disk.
#                    APPOINTMENTS=100000 for less of one
# make build         one static binary, ./holdfast
# make simulate      a clinic lived through in virtual time: SEED=7 for one, SEEDS=1000 for many, DAYS=30 of each; web/simulation
# make planted       the bugs that the simulated clinic must find, each built in and looked for; BUG=buffer for one
# make prove         one table of what proves the promises, with a count, a bad column and whether it sees; LONG=1 for hours of it,
#                    MOST=5m to end each row of it by then, RESUME=proof.json to go on where the last run ended,
#                    RECORD=1 to write what was seen into docs/proof.md
# make fuzz          grows the inputs of every fuzz target, which testdata/fuzz.tar.gz stores: MINUTES=60 for all targets together,
#                    TARGETS='engine/token' for some
# make vulnerable    the known vulnerabilities of the functions in the program, from VULNDB, a copy of the Go vulnerability database
# make cluster       two nodes, PostgreSQL, Redis and nginx on loopback, until Ctrl-C
# make systemd       the life of the Debian package and of holdfast service under a real systemd, in a throwaway machine; root only
# make dist          what is given away: an archive for each system in dist/, with licences, bills of materials and sums
# make sign          signs dist/SHA256SUMS with the owner's key, KEY=minisign.key; docs/install.md shows how to create and check
# make cross         compiles for systems that nobody here has
# make pages         joins and compresses web/ui and the description of the API into what is embedded, and committed; after a
#                    change of them, and a test says so
# make pictures      takes the pictures of the manual and README.md from the pages in Chromium, and writes them to docs/pictures
# make clients       generates the clients for Go and TypeScript from the description of the API; make dist packs them

VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0
MINISIGN    := aead.dev/minisign/cmd/minisign@v0.3.0
LDFLAGS     := -s -w -X main.version=$(VERSION)
# 32 MB, stripped. A larger program has lost the linker's pruning, or gained a dependency.
MAX_BINARY  := 32000000

# The program is built without cgo, so that it is static; only the race detector needs it.
export CGO_ENABLED := 0

# What make simulate lives through. What is empty is the test's own default.
SEED  ?=
SEEDS ?= 20
DAYS  ?=
ONLY  ?=
BUG   ?= .

# How far make curves goes.
HOLDS        ?= 1000000
SUBSCRIBERS  ?= 20000
APPOINTMENTS ?= 5000000
SPECIALISTS  ?= 1000

# What make prove runs: the rows whose name matches, the long form if it says so, and until when; and whether docs/proof.md is told.
ROWS   ?= .
LONG   ?=
MOST   ?=
RECORD ?=
RESUME ?=

# How long make fuzz takes, and which targets match; where make vulnerable finds the database.
MINUTES ?= 20
TARGETS ?= .
VULNDB  ?=

.PHONY: fuzz vulnerable quick test test-hours vet lint types format bench bench-once curves simulate planted prove systemd dist sign cross build cluster pages pictures clients pruned clean

quick:
	@.ci/quick

test:
	@.ci/test

test-hours:
	.ci/hours

vet:
	go vet ./...

lint: vet
	@out=$$(git ls-files -co --exclude-standard '*.go' | xargs -r gofmt -l); \
	  if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi
	go run $(STATICCHECK) ./...
	@.ci/types
	@.ci/format
	@.ci/openapi
	@.ci/words
	go test -run 'TestFilesStayShort|TestPackagesAreNouns|TestImportsPointOneWay|TestThirdPartyModuleHasOneOwner' .

types:
	@.ci/types

format:
	@.ci/format --write

bench:
	@.ci/tools test
	go test -run '^$$' -bench . -benchmem -timeout 60m -p 1 ./...

bench-once:
	go test -run '^$$' -bench . -benchtime 1x -timeout 3h -p 1 ./...

curves:
	go test ./holds/memory -run '^$$' -bench Curve -benchtime 1x -timeout 60m -holds $(HOLDS)
	go test ./web/stream -run '^$$' -bench Curve -benchtime 1x -timeout 60m -subscribers $(SUBSCRIBERS)
	go test ./cli -run '^$$' -bench Curve -benchtime 1x -timeout 120m -appointments $(APPOINTMENTS)
	go test ./engine -run '^$$' -bench Curve -benchtime 1x -timeout 60m -specialists $(SPECIALISTS)

simulate:
	go test ./web/simulation -run 'TestSimulatedClinic$$' -count=1 -timeout 720h -v -only '$(ONLY)' \
	  $(if $(SEED),-seed $(SEED) -seeds 1,-seeds $(SEEDS)) $(if $(DAYS),-days $(DAYS))

planted:
	go test ./web/simulation -run 'TestPlantedBugsAreFound$$' -count=1 -timeout 24h -v -planted '$(BUG)' -seeds $(SEEDS)

prove:
	@go run ./bench/prove $(if $(LONG),-long) $(if $(MOST),-most $(MOST)) $(if $(RESUME),-resume $(RESUME)) $(if $(SEED),-seed $(SEED)) $(if $(RECORD),-record docs/proof.md) -rows '$(ROWS)'

fuzz:
	@.ci/fuzz $(MINUTES) '$(TARGETS)'

vulnerable:
	@.ci/vulnerable '$(VULNDB)'

# What is embedded is committed: after a change of web/ui, `make pages` comes first.
build:
	go build -trimpath -ldflags '$(LDFLAGS)' -o holdfast .
	@size=$$(stat -c %s holdfast 2>/dev/null || stat -f %z holdfast); echo "holdfast: $$size bytes"; \
	  if [ $$size -gt $(MAX_BINARY) ]; then echo "the binary is larger than $(MAX_BINARY) bytes"; exit 1; fi
	@$(MAKE) --no-print-directory pruned

systemd:
	@deploy/systemd/try

dist:
	rm -rf dist
	.ci/clients dist
	go run ./deploy/dist -version '$(VERSION)'

sign:
	@[ -n "$(KEY)" ] || { echo 'usage: make sign KEY=minisign.key; to create a key: go run $(MINISIGN) -G -s minisign.key -p holdfast.pub'; exit 1; }
	go run $(MINISIGN) -S -s '$(KEY)' -m dist/SHA256SUMS

cross:
	GOOS=windows GOARCH=amd64 go build -trimpath -o /dev/null .
	GOOS=darwin GOARCH=arm64 go build -trimpath -o /dev/null .

cluster: build
	deploy/cluster/run

pages:
	go generate ./web/pages ./docs

pictures:
	HOLDFAST_PICTURES='$(CURDIR)/docs/pictures' go test ./web/browsertest -run 'TestPicturesOfManual$$' -count=1

clients:
	@.ci/clients

# One call of reflect's Method by a name that is not constant makes the linker keep every exported method.
pruned:
	@n=$$(go build -ldflags=-dumpdep -o /dev/null . 2>&1 | grep -c ReflectMethod || true); \
	  if [ "$$n" != 0 ]; then echo "method pruning is off: ReflectMethod appears $$n times in go build -ldflags=-dumpdep"; exit 1; fi

clean:
	rm -rf holdfast dist
