package cli

import "github.com/spf13/cobra"

// What a shell completes besides the names of commands and flags: the values of a flag that has a few, true and false, files
// where a file is meant, directories for --data, and nothing where nothing is known. No completion opens the data directory.

// completes says what the values of a flag are.
func completes(c *cobra.Command, flag string, values ...string) {
	mustDefine(c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
}

// completesFiles says that a flag names a file.
func completesFiles(c *cobra.Command, flag string) {
	mustDefine(c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)))
}

// completesDirectories says that a flag names a directory.
func completesDirectories(c *cobra.Command, flag string) {
	mustDefine(c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)))
}

// takesFile completes the arguments of a command by files.
func takesFile(c *cobra.Command) *cobra.Command {
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return c
}

// mustDefine is for what fails by a mistake in this package alone, such as a flag that was not defined before.
func mustDefine(err error) {
	if err != nil {
		panic(err)
	}
}
