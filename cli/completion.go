package cli

import "github.com/spf13/cobra"

// Shells complete the names of commands and flags, the values of flags that accept only a few values, true and false,
// files for arguments that name a file, and directories for --data. Other values are not completed. No completion opens
// the data directory.

// completes sets the values that a shell offers for a flag.
func completes(c *cobra.Command, flag string, values ...string) {
	mustDefine(c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
}

// completesFiles lets a shell complete the value of a flag with file names.
func completesFiles(c *cobra.Command, flag string) {
	mustDefine(c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)))
}

// completesDirectories lets a shell complete the value of a flag with directory names.
func completesDirectories(c *cobra.Command, flag string) {
	mustDefine(c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)))
}

// takesFile lets a shell complete the arguments of a command with file names.
func takesFile(c *cobra.Command) *cobra.Command {
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return c
}

// mustDefine panics on an error that only a mistake in this package can cause, such as an undefined flag.
func mustDefine(err error) {
	if err != nil {
		panic(err)
	}
}
