import Basics
import CSockets
import Glibc

/// One TCP connection that carries RFC 4571 frames. Confined to the loop's thread.
final class TCPConnection {
    /// Bytes that may wait for a slow receiver: half a second at 4 Mbit/s. Whole frames beyond it are dropped, as a
    /// datagram network would.
    static let maxBacklog = 256 << 10
    /// A connection that brought no whole frame for so long is closed: ICE checks come every few seconds.
    static let idleLimit: Duration = .seconds(30)
    /// The same for one whose receiver takes nothing of what waits for it.
    static let stallLimit: Duration = .seconds(10)
    /// Bytes of a backlog that are kept allocated while nothing waits.
    static let keptBacklog = 32 << 10

    let descriptor: Int32
    let flow: Flow
    /// When the last whole frame came.
    private(set) var lastHeard: Instant
    /// When the receiver last took something, or nothing waited for it.
    private(set) var lastProgress: Instant
    /// Still being made (client side): writable means connected.
    var isConnecting: Bool
    private var reader = FrameReader()
    private var backlog: [UInt8] = []
    private var backlogStart = 0

    init(descriptor: Int32, flow: Flow, isConnecting: Bool, at now: Instant) {
        self.descriptor = descriptor
        self.flow = flow
        self.isConnecting = isConnecting
        lastHeard = now
        lastProgress = now
    }

    deinit { close(descriptor) }

    /// Something waits to be written.
    var wantsWrite: Bool { isConnecting || backlogStart < backlog.count }

    /// Reads what there is. False when the connection ended or broke the framing.
    func receive(
        into scratch: UnsafeMutableRawBufferPointer, at now: Instant, _ body: (UnsafeMutableRawBufferPointer) -> Void
    ) -> Bool {
        // Once a turn, then the others: what is left keeps the descriptor readable.
        let count = recv(descriptor, scratch.baseAddress, scratch.count, Int32(MSG_DONTWAIT))
        if count == 0 { return false }
        if count < 0 { return errno == EAGAIN || errno == EINTR }
        var frames = 0
        let isValid = reader.append(UnsafeMutableRawBufferPointer(rebasing: scratch[0..<count])) {
            frames += 1
            body($0)
        }
        if frames > 0 { lastHeard = now }
        return isValid
    }

    /// Queues one whole frame, or drops it when too much waits. Answers whether it did queue it.
    func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= FrameReader.maxFrame,
            backlog.count - backlogStart + bytes.count + 2 <= TCPConnection.maxBacklog
        else {
            return false
        }
        backlog.append16(UInt16(bytes.count))
        backlog.append(contentsOf: bytes)
        return true
    }

    /// Writes as much of the backlog as the system takes. False when the connection broke.
    func flush(at now: Instant) -> Bool {
        guard !isConnecting else { return true }
        while backlogStart < backlog.count {
            let count = backlog.withUnsafeBytes {
                Glibc.send(
                    descriptor, $0.baseAddress.unsafelyUnwrapped + backlogStart, $0.count - backlogStart,
                    Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
            }
            if count < 0 {
                if errno == EINTR { continue }
                return errno == EAGAIN
            }
            backlogStart += count
            lastProgress = now
        }
        if backlogStart == backlog.count {
            backlog.removeAll(keepingCapacity: backlog.capacity <= TCPConnection.keptBacklog)
            backlogStart = 0
            lastProgress = now
        } else if backlogStart > 64 << 10 {
            backlog.removeFirst(backlogStart)
            backlogStart = 0
        }
        return true
    }

    /// After a connect: 0 when it stands, else the system's error number.
    func connectResult() -> Int32 {
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
        return code
    }
}
