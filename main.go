// Command holdfast is an appointment server in one binary. The package comment of cli is its manual, and README.md
// introduces it.
package main

import (
	"os"

	// The time zone database is part of the binary, so that every machine has all zones and the same rules.
	_ "time/tzdata"

	"holdfast/cli"
)

// version is set by the linker: -ldflags "-X main.version=1.2.3".
var version string

func main() {
	go paceCollector()
	os.Exit(cli.Main(version))
}
