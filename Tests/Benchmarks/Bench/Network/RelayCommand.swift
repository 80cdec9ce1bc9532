import ArgumentParser
import Basics
import Glibc
import Simulation
import Sockets

/// Runs an impaired link for a real client, with the conditions of the simulated peers of `network`.
struct RelayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relay", abstract: "Relays UDP between one client and a server over a bad line.",
        discussion: """
            Prints the port that the client must send to, then reads commands, one a line: "down LINK" and "up LINK" change a way; "read" prints \
            packets, losses, bytes and the longest queue in ms of either way since the last time; the end of the input ends it. LINK is as in \
            rate=300k,delay=25ms,queue=300ms,jitter=5ms,loss=0.05,burst=8,reorder=0.01,duplicate=0.01 or "dead".
            """)

    @Option(help: "The server's media address, HOST:PORT.")
    var to: String

    @Option(help: "Where the client finds the relay, HOST:PORT; port 0 lets the system choose.")
    var on = "127.0.0.1:0"

    @Option(help: "From the server to the client.")
    var down = ""

    @Option(help: "From the client to the server.")
    var up = ""

    @Option(help: "What decides every loss.")
    var seed: UInt64 = 1

    func run() throws {
        guard let target = SocketAddress(to), let near = SocketAddress(on) else {
            throw ValidationError("--to and --on are HOST:PORT with numeric addresses")
        }
        let down = try LinkDescription(down).conditions
        let up = try LinkDescription(up).conditions
        let far = [SocketAddress](repeating: SocketAddress(near.ip, port: 0), count: ImpairedRelay.mostClients)
        let loop = try MediaLoop(MediaLoopConfiguration(udp: [near] + far))
        let board = ImpairedRelay.Board()
        loop.start(
            named: "relay",
            delegate: ImpairedRelay(loop: loop, target: target, down: down, up: up, seed: seed, board: board))
        say("\(loop.boundUDP[0].port)")
        while let line = readLine() {
            let words = line.split(separator: " ", maxSplits: 1)
            switch words.first {
            case "down", "up":
                do {
                    let conditions = try LinkDescription(words.count > 1 ? words[1] : "").conditions
                    board.changes.withLock { $0[words[0] == "down" ? 0 : 1] = conditions }
                    // Wakes the loop, which applies the change.
                    loop.execute {}
                    say("ok")
                } catch {
                    say("error: \(error)")
                }
            case "read":
                say(
                    board.read().map { "\($0.packets) \($0.lost) \($0.bytes) \(Int($0.longestQueue.inMilliseconds))" }
                        .joined(separator: " "))
            default: say("error: a command is \"down LINK\", \"up LINK\" or \"read\"")
            }
        }
        loop.stop()
    }

    private func say(_ line: String) {
        print(line)
        fflush(nil)
    }
}
