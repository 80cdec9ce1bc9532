import Basics
import CSockets
import Glibc

/// One TCP connection that carries RFC 4571 frames. Confined to the loop's thread.
final class TCPConnection {
    /// Bytes that may wait for a slow receiver: half a second at 4 Mbit/s. Whole frames beyond it are dropped, as on a
    /// datagram network.
    static let maxBacklog = 256 << 10
    /// A connection without a received frame for this time is closed: ICE checks come every few seconds.
    static let idleLimit: Duration = .seconds(30)
    /// A connection whose receiver reads nothing of its backlog for this time is closed.
    static let stallLimit: Duration = .seconds(10)
    /// The capacity in bytes that an empty backlog keeps.
    static let keptBacklog = 32 << 10

    let descriptor: Int32
    let flow: Flow
    /// When the last whole frame was received.
    private(set) var lastFrame: Instant
    /// When the receiver last read something, or the backlog was empty.
    private(set) var lastProgress: Instant
    /// Whether the connection is not established yet (client side); it is when the descriptor becomes writable.
    var isConnecting: Bool
    private var reader = FrameReader()
    private var backlog: [UInt8] = []
    private var backlogStart = 0

    init(descriptor: Int32, flow: Flow, isConnecting: Bool, at now: Instant) {
        self.descriptor = descriptor
        self.flow = flow
        self.isConnecting = isConnecting
        lastFrame = now
        lastProgress = now
    }

    deinit { close(descriptor) }

    /// Whether bytes wait to be written.
    var wantsWrite: Bool { isConnecting || backlogStart < backlog.count }

    /// Reads the available bytes once. Returns false when the connection ended or broke the framing.
    func receive(
        into scratch: UnsafeMutableRawBufferPointer, at now: Instant, _ body: (UnsafeMutableRawBufferPointer) -> Void
    ) -> Bool {
        // One read per turn, so that other connections follow; the rest keeps the descriptor readable.
        let count = recv(descriptor, scratch.baseAddress, scratch.count, Int32(MSG_DONTWAIT))
        if count == 0 { return false }
        if count < 0 { return errno == EAGAIN || errno == EINTR }
        var frames = 0
        let isValid = reader.append(UnsafeMutableRawBufferPointer(rebasing: scratch[0..<count])) {
            frames += 1
            body($0)
        }
        if frames > 0 { lastFrame = now }
        return isValid
    }

    /// Queues one whole frame, or drops it when the backlog is full. Returns whether the frame was queued.
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

    /// Writes as much of the backlog as the system accepts. Returns false when the connection broke.
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

    /// The result of connect(2): 0 when the connection is established, otherwise the system's error number.
    func connectResult() -> Int32 {
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
        return code
    }
}
