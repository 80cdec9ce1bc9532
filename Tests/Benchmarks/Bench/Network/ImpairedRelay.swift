import Basics
import Simulation
import Sockets

/// An impaired link in real time between one client and a server: datagrams that the client sends to the near socket
/// reach the server from a far one, and back, each direction over the seeded link of the simulated rows.
///
/// Each of the client's own addresses has a far socket, as a NAT has a mapping: a browser checks the pairs of all of its
/// candidates, and an answer that comes to another one than asked is dropped.
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

    /// The far sockets.
    static let mostClients = 8

    /// A datagram of or for one of the client's addresses.
    private struct Datagram {
        var bytes: [UInt8]
        var client: Int
    }

    private let loop: MediaLoop
    private let near: SocketAddress
    private let far: [SocketAddress]
    private let target: SocketAddress
    private let board: Board
    /// In the order in which they came, as their far sockets are.
    private var clients: [Flow] = []
    private var down: SimulatedLink<Datagram>
    private var up: SimulatedLink<Datagram>

    init(loop: MediaLoop, target: SocketAddress, down: LinkConditions, up: LinkConditions, seed: UInt64, board: Board) {
        self.loop = loop
        self.target = target
        self.board = board
        near = loop.boundUDP[0]
        far = Array(loop.boundUDP.dropFirst())
        self.down = SimulatedLink(down, seed: seed)
        self.up = SimulatedLink(up, seed: seed &+ 1)
    }

    func received(_ datagram: UnsafeMutableRawBufferPointer, flow: Flow, at now: Instant) {
        let bytes = [UInt8](datagram)
        if flow.local.port == near.port {
            guard let client = clients.firstIndex(of: flow) ?? added(flow) else { return }
            up.send(Datagram(bytes: bytes, client: client), size: bytes.count, at: now)
        } else if let client = far.firstIndex(where: { $0.port == flow.local.port }) {
            down.send(Datagram(bytes: bytes, client: client), size: bytes.count, at: now)
        }
    }

    private func added(_ client: Flow) -> Int? {
        guard clients.count < far.count else { return nil }
        clients.append(client)
        return clients.count - 1
    }

    func advance(to now: Instant) -> Instant? {
        let changes = board.changes.withLock { changes in
            defer { changes = [nil, nil] }
            return changes
        }
        if let change = changes[0] { down.change(to: change) }
        if let change = changes[1] { up.change(to: change) }
        while let next = up.receive(at: now) {
            next.bytes.withUnsafeBytes { loop.send($0, flow: Flow(.udp, local: far[next.client], remote: target)) }
        }
        while let next = down.receive(at: now) {
            guard clients.indices.contains(next.client) else { continue }
            next.bytes.withUnsafeBytes { loop.send($0, flow: clients[next.client]) }
        }
        board.tallies.withLock { tallies in
            Self.note(down, &tallies[0], at: now)
            Self.note(up, &tallies[1], at: now)
        }
        return [up.nextDelivery, down.nextDelivery].compactMap { $0 }.min()
    }

    func closed(_ flow: Flow) {}

    private static func note(_ link: SimulatedLink<Datagram>, _ tally: inout Tally, at now: Instant) {
        tally.packets = link.sent
        tally.lost = link.lost
        tally.bytes = link.deliveredBytes
        tally.longestQueue = max(tally.longestQueue, link.queueDelay(at: now))
    }
}
