package process

import (
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

func start(t *testing.T, stdin, script string) *Process {
	t.Helper()
	p, err := Start(strings.NewReader(stdin), "sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func TestALineIsFoundAlsoWhenItWasTheLastOne(t *testing.T) {
	p := start(t, "7", `read n; echo "port $n" >&2; echo done`)
	found, err := p.Stderr.Await(patience, regexp.MustCompile(`port (\d+)`))
	if err != nil || found[1] != "7" {
		t.Fatalf("%q, %v", found, err)
	}
	if !p.Ended(patience) {
		t.Fatal("it goes on")
	}
	if _, err := p.Stdout.Await(patience, regexp.MustCompile(`done`)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Stdout.Await(patience, regexp.MustCompile(`never`)); err == nil || !strings.Contains(err.Error(), "ended before") || !strings.Contains(err.Error(), "done") {
		t.Fatalf("%v", err)
	}
}

func TestAWaitEndsWithItsPatience(t *testing.T) {
	p := start(t, "", `echo here; exec sleep 60`)
	if _, err := p.Stdout.Await(200*time.Millisecond, regexp.MustCompile(`never`)); err == nil || !strings.Contains(err.Error(), "within") {
		t.Fatalf("%v", err)
	}
	if p.Ended(0) || p.ExitCode() != -1 || p.RSS() == 0 {
		t.Fatalf("ended %v, code %d, %d bytes", p.Ended(0), p.ExitCode(), p.RSS())
	}
	p.Kill()
	p.Signal(syscall.SIGTERM) // nobody there: nothing happens
	if !p.Ended(0) || p.ExitCode() != -1 {
		t.Fatalf("ended %v, code %d", p.Ended(0), p.ExitCode())
	}
}

func TestTheExitCodeOfASignalThatIsHandled(t *testing.T) {
	p := start(t, "", `trap 'exit 3' TERM; echo ready; while :; do sleep 0.05; done`)
	if _, err := p.Stdout.Await(patience, regexp.MustCompile(`ready`)); err != nil {
		t.Fatal(err)
	}
	p.Signal(syscall.SIGTERM)
	if !p.Ended(patience) || p.ExitCode() != 3 {
		t.Fatalf("code %d", p.ExitCode())
	}
}

func TestAProgramThatIsNotThereIsAnError(t *testing.T) {
	if _, err := Start(nil, "/nowhere/at-all"); err == nil {
		t.Fatal("started")
	}
}

func TestOutputKeepsTheNewestWholeLines(t *testing.T) {
	o := newOutput(100)
	for i := range 50 {
		if _, err := o.Write([]byte("line " + strconv.Itoa(1000+i) + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	mark := o.Mark()
	if mark != 500 || len(o.String()) > 100 || !strings.HasSuffix(o.String(), "line 1049\n") || !strings.HasPrefix(o.String(), "line ") {
		t.Fatalf("mark %d, %q", mark, o)
	}
	_, _ = o.Write([]byte("more\n"))
	if o.Since(mark) != "more\n" || o.Since(o.Mark()+9) != "" || o.Since(0) != o.String() {
		t.Fatalf("%q, %q", o.Since(mark), o)
	}
	_, _ = o.Write([]byte(strings.Repeat("x", 1000))) // more than fits, and no line
	if len(o.String()) > 100 {
		t.Fatalf("%d bytes kept", len(o.String()))
	}
}

// TestChildrenDieWithTheirParent starts this test again, which starts a child and is killed.
func TestChildrenDieWithTheirParent(t *testing.T) {
	if os.Getenv("PROCESS_TEST_PARENT") != "" {
		p := start(t, "", `exec sleep 60`)
		os.Stdout.WriteString("child " + strconv.Itoa(p.Pid()) + "\n")
		p.Ended(patience)
		return
	}
	t.Setenv("PROCESS_TEST_PARENT", "1")
	parent, err := Start(nil, os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.timeout", "60s")
	if err != nil {
		t.Fatal(err)
	}
	found, err := parent.Stdout.Await(patience, regexp.MustCompile(`child (\d+)`))
	if err != nil {
		t.Fatal(err)
	}
	parent.Kill()
	for deadline := time.Now().Add(patience); ; {
		b, err := os.ReadFile("/proc/" + found[1] + "/stat")
		if err != nil || strings.Contains(string(b), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the child lives: %s", b)
		}
	}
}

func TestRedisAnswersWhereItSays(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatalf("make deps: %v", err)
	}
	p, addr, err := StartRedis(patience, t.TempDir(), "--maxclients", "10")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = conn.Write([]byte("PING\r\n"))
	answer := make([]byte, 7)
	if n, err := conn.Read(answer); err != nil || string(answer[:n]) != "+PONG\r\n" {
		t.Fatalf("%q, %v", answer[:n], err)
	}
	if _, _, err := StartRedis(patience, t.TempDir(), "--no-such-option", "1"); err == nil {
		t.Fatal("started with an option that does not exist")
	}
}

func TestListeningReadsTheLineOfANode(t *testing.T) {
	p := start(t, "", `echo 'time=x level=INFO msg=listening addr=127.0.0.1:4711 node=abc agent=demo' >&2`)
	if addr, node, err := p.Listening(patience); err != nil || addr != "127.0.0.1:4711" || node != "abc" {
		t.Fatalf("%q, %q, %v", addr, node, err)
	}
}
