import Basics
import Simulation
import Sockets

/// An impaired link in real time between one client and a server: datagrams that the client sends to the near socket
/// reach the server from the far one, and back, each direction over the seeded link of the simulated rows.
final class ImpairedRelay: MediaLoopDelegate {
    /// The traffic of one direction so far.
    struct Tally: Sendable {
        var packets = 0
        var lost = 0
        var bytes = 0
        /// The longest wait in the queue since the last reading.
        var longestQueue = Duration.zero
    }

    /// The state that is shared with the thread that reads commands.
    final class Board: Sendable {
        let tallies = Guarded<[Tally]>([Tally(), Tally()])
        /// The next conditions of the two directions: down, up.
        let changes = Guarded<[LinkConditions?]>([nil, nil])

        /// The traffic down and up; resets the longest waits.
        func read() -> [Tally] {
            tallies.withLock { tallies in
                defer { for way in tallies.indices { tallies[way].longestQueue = .zero } }
                return tallies
            }
        }
    }

    private let loop: MediaLoop
    private let near: SocketAddress
    private let far: SocketAddress
    private let target: SocketAddress
    private let board: Board
    private var client: Flow?
    private var down: SimulatedLink<[UInt8]>
    private var up: SimulatedLink<[UInt8]>

    init(loop: MediaLoop, target: SocketAddress, down: LinkConditions, up: LinkConditions, seed: UInt64, board: Board) {
        self.loop = loop
        self.target = target
        self.board = board
        near = loop.boundUDP[0]
        far = loop.boundUDP[1]
        self.down = SimulatedLink(down, seed: seed)
        self.up = SimulatedLink(up, seed: seed &+ 1)
    }

    func received(_ datagram: UnsafeMutableRawBufferPointer, flow: Flow, at now: Instant) {
        let bytes = [UInt8](datagram)
        if flow.local.port == near.port {
            client = flow
            up.send(bytes, size: bytes.count, at: now)
        } else {
            down.send(bytes, size: bytes.count, at: now)
        }
    }

    func advance(to now: Instant) -> Instant? {
        let changes = board.changes.withLock { changes in
            defer { changes = [nil, nil] }
            return changes
        }
        if let change = changes[0] { down.change(to: change) }
        if let change = changes[1] { up.change(to: change) }
        while let bytes = up.receive(at: now) {
            bytes.withUnsafeBytes { loop.send($0, flow: Flow(.udp, local: far, remote: target)) }
        }
        while let bytes = down.receive(at: now) {
            guard let client else { continue }
            bytes.withUnsafeBytes { loop.send($0, flow: client) }
        }
        board.tallies.withLock { tallies in
            Self.note(down, &tallies[0], at: now)
            Self.note(up, &tallies[1], at: now)
        }
        return [up.nextDelivery, down.nextDelivery].compactMap { $0 }.min()
    }

    func closed(_ flow: Flow) {}

    private static func note(_ link: SimulatedLink<[UInt8]>, _ tally: inout Tally, at now: Instant) {
        tally.packets = link.sent
        tally.lost = link.lost
        tally.bytes = link.deliveredBytes
        tally.longestQueue = max(tally.longestQueue, link.queueDelay(at: now))
    }
}
