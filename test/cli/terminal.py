# Runs a command on a pseudo-terminal: `python3 terminal.py ORDER`, where ORDER is JSON with `argv`, `columns`, `rows`
# and `types`, a list of [text to wait for, text to type]. Copies the terminal's output to stdout; with `modes`, appends the
# terminal modes that are on at the end, and tells on stderr when a text was typed. Exits with the status of the command.
import fcntl, json, os, pty, select, struct, sys, termios

order = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    size = struct.pack('HHHH', order['rows'], order['columns'], 0, 0)
    fcntl.ioctl(1, termios.TIOCSWINSZ, size)
    os.execvp(order['argv'][0], order['argv'])
seen = b''
types = list(order['types'])
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    seen += piece
    os.write(1, piece)
    while types and types[0][0].encode() in seen:
        if types[0][0]: seen = seen.split(types[0][0].encode(), 1)[1]
        # Two interrupts within 100 ms count as one in gw, and the kernel does not queue a signal that is already pending.
        if order.get('modes') or types[0][1] == '\x03': select.select([], [], [], 0.3)
        os.write(terminal, types.pop(0)[1].encode())
        if order.get('modes'): os.write(2, b'typed\n')
if order.get('modes'):
    flags = termios.tcgetattr(terminal)[3]
    names = [name for name in ('ECHO', 'ICANON', 'ISIG') if flags & getattr(termios, name)]
    os.write(1, f'<modes {" ".join(names)}>'.encode())
_, status = os.waitpid(pid, 0)
sys.exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
