package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"holdfast/deploy/systemd"
	"holdfast/web/certificate"
)

// The paths of a service, by the conventions of systemd and Debian.
const (
	serviceName     = "holdfast.service"
	serviceProgram  = "/usr/local/bin/holdfast"
	packagedProgram = "/usr/bin/holdfast" // from the Debian package, which also contains the unit
	serviceUnit     = "/etc/systemd/system/" + serviceName
	serviceHTTPS    = serviceUnit + ".d/https.conf"
	serviceSettings = "/etc/default/holdfast"
	serviceData     = "/var/lib/holdfast"
)

const settingsText = `# Settings of Holdfast, one HOLDFAST_X_Y=value per line; holdfast help settings lists them.
# After a change, run: systemctl restart holdfast
`

// httpsText allows the service to listen on ports below 1024, for ports 80 and 443.
const httpsText = `[Service]
Environment=HOLDFAST_DOMAIN=%s
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
PrivateUsers=no
`

// service describes where and how the service is installed.
type service struct {
	out    io.Writer
	root   string // prefix of every path; if it is set, systemctl is not called
	dryRun bool
	system string // runtime.GOOS, except in tests
	user   int    // os.Geteuid(), except in tests
}

func serviceCommand(p process) *cobra.Command {
	c := groupCommand("service", "Install or remove the system service")
	s := service{out: p.stdout, system: runtime.GOOS, user: os.Geteuid()}
	var domains []string
	install := &cobra.Command{
		Use:   "install",
		Short: "Install and start the systemd service",
		Long: "Copies this program to " + serviceProgram +
			", writes a hardened systemd unit, enables it and starts it.\n" +
			"The server runs as its own user. Its data is in " + serviceData + ", its settings in " + serviceSettings +
			". Needs root.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return s.install(c.Context(), domains) },
	}
	install.Flags().StringSliceVar(&domains, "domain", nil, "serve HTTPS for these names, on ports 80 and 443")
	uninstall := &cobra.Command{
		Use:   "uninstall",
		Short: "Stop and remove the service; keep the data",
		Args:  noArguments,
		RunE:  func(c *cobra.Command, _ []string) error { return s.uninstall(c.Context()) },
	}
	for _, each := range []*cobra.Command{install, uninstall} {
		each.Flags().BoolVar(&s.dryRun, "dry-run", false, "print the steps without running them")
		each.Flags().StringVar(&s.root, "root", "",
			"write the files under this directory without calling systemd, to prepare an image")
		completesDirectories(each, "root")
	}
	status := &cobra.Command{
		Use:   "status",
		Short: "Show whether the service is installed and running",
		Args:  noArguments,
		RunE:  func(c *cobra.Command, _ []string) error { return s.status(c.Context()) },
	}
	c.AddCommand(install, uninstall, status)
	return c
}

// elsewhere contains the instructions for systems that this command does not support.
var elsewhere = map[string]string{
	"darwin": "save a property list with ProgramArguments (holdfast, serve, --data, a directory), RunAtLoad and " +
		"KeepAlive as /Library/LaunchDaemons/holdfast.plist, and run: launchctl bootstrap system " +
		"/Library/LaunchDaemons/holdfast.plist",
	"windows": "have the Task Scheduler start holdfast at startup: schtasks /Create /TN Holdfast /SC ONSTART " +
		"/RU " +
		"LocalService /TR \"C:\\Program Files\\Holdfast\\holdfast.exe serve --data C:\\ProgramData\\Holdfast\"",
	"freebsd": "put an rc.d script that uses daemon(8) into /usr/local/etc/rc.d, and run: sysrc holdfast_enable=YES",
}

// able returns an error with the reason if this machine or user cannot install a service.
func (s *service) able() error {
	if s.system != "linux" {
		how, known := elsewhere[s.system]
		if !known {
			how = "run holdfast serve under the service manager of that system"
		}
		return fmt.Errorf("holdfast service supports only systemd on Linux. Here, %s", how)
	}
	if s.dryRun || s.root != "" {
		return nil
	}
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return errors.New(
			"systemd is not running on this machine. Run holdfast serve under its service manager; in a container, " +
				"make holdfast serve the container's command",
		)
	}
	if s.user != 0 {
		return errors.New(
			"only root can install services: run the command again with sudo, or with --dry-run to see its steps",
		)
	}
	return nil
}

func (s *service) install(ctx context.Context, domains []string) error {
	if err := s.able(); err != nil {
		return err
	}
	var names []string
	for _, d := range domains {
		name, err := certificate.ParseDomain(d)
		if err != nil {
			return usageError{fmt.Errorf("flag --domain: %w", err)}
		}
		names = append(names, name)
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if program, err = filepath.EvalSymlinks(program); err != nil {
		return err
	}
	if program != packagedProgram { // the package has installed the program and the unit
		if err := s.copyProgram(program); err != nil {
			return err
		}
		if err := s.write(serviceUnit, strings.Replace(systemd.Unit, packagedProgram, serviceProgram, 1),
			0o644); err != nil {
			return err
		}
	}
	if _, err := os.Stat(s.at(serviceSettings)); errors.Is(err, fs.ErrNotExist) {
		if err := s.write(serviceSettings, settingsText, 0o600); err != nil {
			return err
		}
	}
	if len(names) > 0 {
		if err := s.write(serviceHTTPS, fmt.Sprintf(httpsText, strings.Join(names, ",")), 0o644); err != nil {
			return err
		}
	}
	if err := s.systemctl(ctx, []string{"daemon-reload"}, []string{"enable", serviceName},
		[]string{"restart", serviceName}); err != nil {
		return err
	}
	s.say(
		"\nThe data is in %s, the settings are in %s. To see the setup link:\n  journalctl -u holdfast | grep setup\n",
		serviceData, serviceSettings,
	)
	return nil
}

func (s *service) uninstall(ctx context.Context) error {
	if err := s.able(); err != nil {
		return err
	}
	if _, err := os.Stat(s.at(serviceUnit)); errors.Is(err, fs.ErrNotExist) && !s.dryRun {
		return s.uninstallLines(ctx)
	}
	if err := s.systemctl(ctx, []string{"disable", "--now", serviceName}); err != nil {
		return err
	}
	if err := s.remove(serviceHTTPS, filepath.Dir(serviceHTTPS), serviceUnit); err != nil {
		return err
	}
	if err := s.systemctl(ctx, []string{"daemon-reload"}); err != nil {
		return err
	}
	s.say("\nNot deleted: %s, %s and %s.\n", serviceData, serviceSettings, serviceProgram)
	return nil
}

// uninstallLines removes the files that install added to an installation from the Debian package. The package's service
// continues without them.
func (s *service) uninstallLines(ctx context.Context) error {
	const withPackage = "To remove the Debian package: apt remove holdfast"
	if _, err := os.Stat(s.at(serviceHTTPS)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no %s: nothing was installed here with holdfast service install. %s",
			s.at(serviceUnit), withPackage)
	}
	if err := s.remove(serviceHTTPS, filepath.Dir(serviceHTTPS)); err != nil {
		return err
	}
	if err := s.systemctl(ctx, []string{"daemon-reload"}, []string{"try-restart", serviceName}); err != nil {
		return err
	}
	s.say("\nThe service that a package installed is unchanged. %s\n", withPackage)
	return nil
}

func (s *service) status(ctx context.Context) error {
	if err := s.able(); err != nil && s.user == 0 || s.system != "linux" {
		return err
	}
	said, err := exec.CommandContext(ctx, "systemctl", "show", serviceName,
		"--property=LoadState,ActiveState,SubState,UnitFileState,MainPID,FragmentPath,Result").Output()
	if err != nil {
		return fmt.Errorf("systemctl failed: %w", err)
	}
	s.say("%s", said)
	if !strings.Contains(string(said), "ActiveState=active") {
		return errors.New("the service is not running. See: journalctl -u holdfast")
	}
	return nil
}

func (s *service) at(path string) string { return filepath.Join(s.root, path) }

func (s *service) say(format string, args ...any) { _, _ = fmt.Fprintf(s.out, format, args...) }

// copyProgram copies this program to the service's path. It writes a new file and renames it, because the old program
// may be running.
func (s *service) copyProgram(program string) error {
	to := s.at(serviceProgram)
	if program == to {
		return nil
	}
	s.say("copy %s to %s\n", program, to)
	if s.dryRun {
		return nil
	}
	from, err := os.Open(program)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	fresh, err := os.OpenFile(to+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	if _, err = io.Copy(fresh, from); err == nil {
		// the service runs as another user, and the umask may be strict
		err = errors.Join(fresh.Chmod(0o755), fresh.Sync())
	}
	if err = errors.Join(err, fresh.Close()); err != nil {
		return errors.Join(err, os.Remove(fresh.Name()))
	}
	return os.Rename(fresh.Name(), to)
}

// write writes a file. In a dry run, it prints the content instead.
func (s *service) write(path, text string, mode fs.FileMode) error {
	s.say("write %s\n", s.at(path))
	if s.dryRun {
		for line := range strings.Lines(text) {
			s.say("    %s", line)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(s.at(path)), 0o755); err != nil {
		return err
	}
	return os.WriteFile(s.at(path), []byte(text), mode)
}

// remove removes files and directories in order, if they exist. It does not remove a directory that
// is not empty.
func (s *service) remove(paths ...string) error {
	for _, path := range paths {
		if _, err := os.Lstat(s.at(path)); errors.Is(err, fs.ErrNotExist) && !s.dryRun {
			continue
		}
		s.say("remove %s\n", s.at(path))
		if s.dryRun {
			continue
		}
		// ENOTEMPTY means that the directory contains other files, so it is kept.
		if err := os.Remove(s.at(path)); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
			return err
		}
	}
	return nil
}

// systemctl runs the given systemctl commands in order.
func (s *service) systemctl(ctx context.Context, all ...[]string) error {
	for _, args := range all {
		if s.root != "" {
			continue
		}
		s.say("systemctl %s\n", strings.Join(args, " "))
		if s.dryRun {
			continue
		}
		if said, err := exec.CommandContext(ctx, "systemctl", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("systemctl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(said)))
		}
	}
	return nil
}
