import Basics
import CSockets
import Glibc

/// One TCP connection that carries RFC 4571 frames. Confined to the loop's thread.
final class TCPConnection {
    /// Bytes that may wait for a slow receiver: half a second at 4 Mbit/s. Whole frames beyond it are dropped, as a datagram network would.
    static let maxBacklog = 256 << 10
    /// A connection that brought no frame for so long is closed: ICE checks come every few seconds.
    static let idleLimit: Duration = .seconds(30)

    let descriptor: Int32
    let flow: Flow
    var lastHeard: Instant
    /// Still being made (client side): writable means connected.
    var isConnecting: Bool
    private(set) var dropped = 0
    private var reader = FrameReader()
    private var backlog: [UInt8] = []
    private var backlogStart = 0

    init(descriptor: Int32, flow: Flow, isConnecting: Bool, at now: Instant) {
        self.descriptor = descriptor
        self.flow = flow
        self.isConnecting = isConnecting
        lastHeard = now
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(descriptor) }

    /// Something waits to be written.
    var wantsWrite: Bool { isConnecting || backlogStart < backlog.count }

    /// Reads what there is. False when the connection ended or broke the framing.
    func receive(into scratch: UnsafeMutableRawBufferPointer, at now: Instant, _ body: (UnsafeMutableRawBufferPointer) -> Void) -> Bool {
        // A fast sender gets a few turns, then the others.
        for _ in 0..<4 {
            let count = recv(descriptor, scratch.baseAddress, scratch.count, Int32(MSG_DONTWAIT))
            if count == 0 { return false }
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            lastHeard = now
            guard reader.append(UnsafeRawBufferPointer(rebasing: scratch[0..<count]), body) else { return false }
            if count < scratch.count { return true }
        }
        return true
    }

    /// Queues one whole frame, or drops it when too much waits.
    func send(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count <= FrameReader.maxFrame, backlog.count - backlogStart + bytes.count + 2 <= TCPConnection.maxBacklog else {
            dropped += 1
            return
        }
        backlog.append16(UInt16(bytes.count))
        backlog.append(contentsOf: bytes)
    }

    /// Writes as much of the backlog as the system takes. False when the connection broke.
    func flush() -> Bool {
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
        }
        if backlogStart == backlog.count {
            backlog.removeAll(keepingCapacity: true)
            backlogStart = 0
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
