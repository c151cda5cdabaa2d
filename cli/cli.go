// Package cli is the holdfast command: what an operator types, and how the parts are put together for it.
//
// # Commands
//
// One command is one file. serve.go is the wiring of the whole server on one page: open, wire, serve, drain. The
// commands that need the data (import, export, apikey, backup, verify) all talk to the admin socket in the data
// directory. If a server runs there, it answers; if none does, the command opens the data directory itself, answers on
// the socket for as long as it takes, and goes. So there is one path, and two processes never write one database.
//
// # Settings
//
// setting.go is the one table of them. A setting has one name in three places: flag --base-url, environment
// HOLDFAST_BASE_URL, line HOLDFAST_BASE_URL=… in the file of --config. The flag wins over the environment, the
// environment over the file, the file over the default. A secret may also be given as a file: --admin-key-file,
// HOLDFAST_ADMIN_KEY_FILE. All mistakes are reported at once.
//
// # Exit codes
//
// 0: done. 1: it failed; the message says why. 2: the command line or a setting is wrong; nothing was begun.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"holdfast/store/bolt"
)

// process is what a command may touch of the process it runs in. Tests give it other streams.
type process struct {
	args    []string // without the program's name
	environ []string // KEY=VALUE
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	version string
}

// Main runs the command that the process was started with and returns its exit code. The first SIGINT or SIGTERM asks
// the command to finish in good order; a second one ends the process at once. An empty version means a build without
// one: the revision it was built from stands in.
func Main(version string) int {
	bolt.CheckMain() // the queue's file is checked by a child of this process
	ctx, stop := untilSignalled()
	defer stop()
	return run(ctx, process{
		args: os.Args[1:], environ: os.Environ(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		version: versionOf(version, debug.ReadBuildInfo),
	})
}

// untilSignalled returns a context that the first SIGINT or SIGTERM ends. The second one kills the process, as it would
// have without us.
func untilSignalled() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
			return
		}
		second := <-signals
		signal.Reset()
		endBy(second)
	}()
	return ctx, cancel
}

// usageError is a mistake in what was typed or set, as opposed to something that failed.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run is Main without the process.
func run(ctx context.Context, p process) int {
	root := rootCommand(p)
	root.SetArgs(joinYes(p.args))
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintf(p.stderr, "holdfast: %s\n", strings.TrimSpace(err.Error()))
	if errors.As(err, &usageError{}) {
		return 2
	}
	return 1
}

func rootCommand(p process) *cobra.Command {
	serve := serveCommand(p)
	root := &cobra.Command{
		Use:   "holdfast",
		Short: "An appointment server in one binary",
		Long: `Holdfast is an appointment server in one binary. Patients book on a live page, and no patient is double-booked.

  holdfast demo     try it: a demo clinic with visitors, in a temporary directory
  holdfast          serve on http://127.0.0.1:8788 with the data in ./holdfast-data

Every flag --x-y can also be set as HOLDFAST_X_Y in the environment or in the file of --config.`,
		Args: noArguments,
		RunE: func(c *cobra.Command, args []string) error {
			if asked, _ := c.Flags().GetBool("version"); asked {
				_, err := fmt.Fprint(p.stdout, versionLine(p.version))
				return err
			}
			return serve.RunE(c, args)
		},
		SilenceErrors: true,
		SilenceUsage:  true,

		SuggestionsMinimumDistance: 2,
	}
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return p.flagError(root, c, err)
	})
	// cobra's own --version says more than the line, unless it is given a template, and one template keeps 3 MB of methods.
	root.SetUsageFunc(usage)
	root.Flags().BoolP("version", "v", false, "print the version")
	defineSettings(root, forServing)
	root.AddCommand(serve, demoCommand(p), takesFile(importCommand(p)), exportCommand(p), setupURLCommand(p), adminCommand(p), apikeyCommand(p),
		keysCommand(p), queueCommand(p), backupCommand(p), backupKeyCommand(p), takesFile(restoreCommand(p)), takesFile(verifyCommand(p)), migrateCommand(p), upgradeCommand(p), configCommand(p), healthcheckCommand(p),
		openAPICommand(p), mcpCommand(p), tortureCommand(p), whyCommand(p), serviceCommand(p), versionCommand(p), settingsTopic())
	return root
}

// noArguments refuses anything that is not a flag. Of a misspelt command it says which ones there are.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf(" Did you mean %q?", near[0])
	}
	what := "takes no arguments, but was given"
	if c.HasSubCommands() {
		what = "has no command"
	}
	return usageError{fmt.Errorf("%s %s %q.%s\nSee: %s --help", c.CommandPath(), what, args[0], hint, c.CommandPath())}
}

// oneArgument asks for exactly one, which the message calls what.
func oneArgument(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return usageError{fmt.Errorf("%s needs exactly one argument: %s\nSee: %s --help", c.CommandPath(), what, c.CommandPath())}
	}
}
