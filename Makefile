# make quick         go vet and the short tests of what has changed, in under a minute: no server, no browser, no race detector
# make test          the whole suite, with the race detector, Chromium, PostgreSQL and Redis; .ci/run adds Firefox and the long tests
# make test-hours    the tests as if they were started at other hours, on other dates and in other zones
# make test-slow     the browser tests with slow pages and late answers: finds tests that depend on the machine's speed
# make lint          the checks that would otherwise be left to a review; make types runs only those of the pages' JavaScript
# make format        formats the pages' JavaScript with Prettier, if the built pages stay the same; make lint checks it
# make bench         the figures of bench/RESULTS.md; make bench-once runs each benchmark once, to keep them all working
# make curves        how the figures grow with the number of holds, subscribers, appointments and specialists; takes an hour and 3 GB of disk.
#                    APPOINTMENTS=100000 measures fewer appointments
# make build         one static binary, ./holdfast
# make simulate      simulates a clinic in virtual time: SEED=7 runs one seed, SEEDS=1000 many, DAYS=30 sets the days of each; web/simulation
# make planted       plants bugs one at a time, and checks that the simulated clinic finds each; BUG=buffer runs one
# make prove         runs the checks behind the guarantees and prints a table: the number of cases, the failures, and whether each check
#                    finds a planted bug. LONG=1 runs for hours, MOST=5m limits each row, RESUME=proof.json continues the last run,
#                    JOBS=4 runs a row's tests four times at the same time, RECORD=1 writes the results into docs/proof.md
# make fuzz          runs every fuzz target and adds inputs to testdata/fuzz.tar.gz: MINUTES=60 for all targets together,
#                    TARGETS='engine/token' runs only those that match
# make vulnerable    the known vulnerabilities of the functions in the program, from VULNDB, a copy of the Go vulnerability database
# make cluster       two nodes, PostgreSQL, Redis and nginx on loopback, until Ctrl-C
# make systemd       tests the Debian package and holdfast service under a real systemd, in a temporary container; needs root
# make dist          builds a release in dist/: an archive for each system, with licences, bills of materials and checksums
# make sign          signs dist/SHA256SUMS with the owner's key, KEY=minisign.key; docs/install.md shows how to create and check
# make cross         compiles for the systems on which the tests do not run
# make pages         builds the embedded pages from web/ui and from the API description, and compresses them. The result is committed; a
#                    test fails if it is outdated
# make pictures      takes the screenshots for the manual and README.md in Chromium, and writes them to docs/pictures
# make clients       generates the clients for Go and TypeScript from the description of the API; make dist packs them

VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0
MINISIGN    := aead.dev/minisign/cmd/minisign@v0.3.0
LDFLAGS     := -s -w -X main.version=$(VERSION)
# 32 MB, stripped. If the program is larger, the linker no longer prunes methods, or there is a new dependency.
MAX_BINARY  := 32000000

# The program is built without cgo, so that it is static. Only the race detector needs cgo.
export CGO_ENABLED := 0

# The parameters of make simulate. An empty value means the test's own default.
SEED  ?=
SEEDS ?= 20
DAYS  ?=
ONLY  ?=
BUG   ?= .

# The largest quantities of make curves.
HOLDS        ?= 1000000
SUBSCRIBERS  ?= 20000
APPOINTMENTS ?= 5000000
SPECIALISTS  ?= 1000

# The parameters of make prove: the rows by name, the long form, the time limit of a row, the run to continue, and whether to write docs/proof.md.
ROWS   ?= .
LONG   ?=
MOST   ?=
JOBS   ?=
RECORD ?=
RESUME ?=

# The duration and the targets of make fuzz, and the path of the database for make vulnerable.
MINUTES ?= 20
TARGETS ?= .
VULNDB  ?=

.PHONY: fuzz vulnerable quick test test-hours test-slow vet lint types format bench bench-once curves simulate planted prove systemd dist sign cross build cluster pages pictures clients pruned clean

quick:
	@.ci/quick

test:
	@.ci/test

test-hours:
	.ci/hours

test-slow:
	HOLDFAST_SLOW=on go test -vet=off -count=1 -parallel 4 -timeout 2h ./web/browsertest

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
	go test -run '^$$' -bench . -benchtime 1x -timeout 3h -p 2 ./...

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
	@go run ./bench/prove $(if $(LONG),-long) $(if $(MOST),-most $(MOST)) $(if $(JOBS),-jobs $(JOBS)) $(if $(RESUME),-resume $(RESUME)) $(if $(SEED),-seed $(SEED)) $(if $(RECORD),-record docs/proof.md) -rows '$(ROWS)'

fuzz:
	@.ci/fuzz $(MINUTES) '$(TARGETS)'

vulnerable:
	@.ci/vulnerable '$(VULNDB)'

# The embedded pages are committed. After a change of web/ui, run `make pages` first.
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

# A single call of reflect's Method with a variable name makes the linker keep every exported method.
pruned:
	@n=$$(go build -ldflags=-dumpdep -o /dev/null . 2>&1 | grep -c ReflectMethod || true); \
	  if [ "$$n" != 0 ]; then echo "method pruning is off: ReflectMethod appears $$n times in go build -ldflags=-dumpdep"; exit 1; fi

clean:
	rm -rf holdfast dist
