// Package cli implements the holdfast command: its subcommands, and the wiring of the server's parts.
//
// # Commands
//
// Each command has one file. serve.go wires the whole server: it opens the parts, connects them, serves, and drains.
// The commands that need the data (import, export, apikey, backup, verify) all use the admin socket in the data
// directory. If a server is running there, it handles the requests. Otherwise the command opens the data directory
// itself, serves the socket while it works, and closes the directory. So there is only one code path, and two processes
// never write to the same database.
//
// # Settings
//
// setting.go contains the table of all settings. An operator can set each one in three places: the flag --base-url, the
// environment variable HOLDFAST_BASE_URL, or a line HOLDFAST_BASE_URL=… in the file named by --config. The flag takes
// precedence over the environment, the environment over the file, the file over the default. A secret can also be in a
// separate file, named by --admin-key-file or HOLDFAST_ADMIN_KEY_FILE. The command reports all invalid settings
// together.
//
// # Exit codes
//
// 0: success. 1: the command failed; the message gives the reason. 2: the command line or a setting is invalid; the
// command did not start.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"holdfast/store/bolt"
)

// process holds the parts of the operating-system process that a command uses. Tests replace the streams.
type process struct {
	args    []string // without the program's name
	environ []string // KEY=VALUE
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	version string
}

// Main runs the command of this process and returns its exit code. The first SIGINT or SIGTERM stops the command
// gracefully. The second one ends the process immediately. If version is empty, Main uses the revision from the build
// information.
func Main(version string) int {
	bolt.CheckMain() // does not return in a child process that checks the queue's file
	ctx, stop := untilSignalled()
	defer stop()
	return run(ctx, process{
		args: os.Args[1:], environ: os.Environ(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		version: versionOf(version, debug.ReadBuildInfo),
	})
}

// untilSignalled returns a context that the first SIGINT or SIGTERM ends. The second one kills the process, as it
// would by default.
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

// usageError is an error in the command line or in a setting. Its exit code is 2, and that of all other errors is 1.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run is Main for a given process. It returns the exit code.
func run(ctx context.Context, p process) int {
	root := rootCommand(p)
	root.SetArgs(joinYes(p.args))
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	refuseUnknownNames(root)
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
		Long: `An appointment server in one binary. Patients book on a live page, and no slot is double-booked.

  holdfast demo     try it: a demo clinic with visitors, in a temporary directory
  holdfast          serve on http://127.0.0.1:8788 with the data in ./holdfast-data

Every flag --x-y can also be set as HOLDFAST_X_Y in the environment or in the file named by --config.`,
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
	}
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return p.flagError(root, c, err)
	})
	// The --version flag of cobra prints more than versionLine. A template could change its output, but templates
	// add 3 MB of methods to the binary.
	root.SetUsageFunc(usage)
	root.Flags().BoolP("version", "v", false, "print the version")
	defineSettings(root, forServing)
	root.AddCommand(serve, demoCommand(p), takesFile(importCommand(p)), exportCommand(p), setupURLCommand(p),
		adminCommand(p), apikeyCommand(p),
		keysCommand(p), queueCommand(p), backupCommand(p), backupKeyCommand(p), takesFile(restoreCommand(p)),
		takesFile(verifyCommand(p)), migrateCommand(p), upgradeCommand(p), configCommand(p), healthcheckCommand(p),
		openAPICommand(p), mcpCommand(p), tortureCommand(p), whyCommand(p), serviceCommand(p), versionCommand(p),
		manCommand(p), settingsTopic())
	return root
}

// refuseUnknownNames makes cobra's own commands, help and completion, refuse the name of a command or shell that does
// not exist. Without it, they show the help of another command and succeed. The output of root must be set before,
// because the completion command keeps it.
func refuseUnknownNames(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				if err != nil || len(rest) == 0 {
					return err
				}
				return noCommand(found, rest[0], "has no command")
			}
		case "completion":
			c.Args, c.RunE = noArguments, showHelp
		}
	}
}

// noArguments refuses any argument that is not a flag. For a misspelt command, its error suggests a similar one.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	what := "takes no arguments, but was given"
	if c.HasSubCommands() {
		what = "has no command"
	}
	return noCommand(c, args[0], what)
}

func noCommand(c *cobra.Command, name, what string) error {
	hint := ""
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(name); len(near) > 0 {
		nearest := slices.MinFunc(near, func(a, b string) int {
			return cmp.Compare(distance(a, name), distance(b, name))
		})
		hint = fmt.Sprintf(" Did you mean %q?", nearest)
	}
	return usageError{fmt.Errorf("%s %s %q.%s\nSee: %s --help", c.CommandPath(), what, name, hint, c.CommandPath())}
}

// oneArgument requires exactly one argument. what describes the argument in the error message.
func oneArgument(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return usageError{fmt.Errorf("%s needs exactly one argument: %s\nSee: %s --help", c.CommandPath(), what,
			c.CommandPath())}
	}
}
