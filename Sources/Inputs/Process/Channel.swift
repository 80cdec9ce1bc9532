import Basics
import CSandbox
import Glibc
import Threads

/// A message between the server and the process that decodes an input: a kind and its fields.
struct Message: Hashable, Sendable {
    var kind: UInt8
    var body: [UInt8] = []
}

/// One end of a pair of sockets, over which messages go: their length in four bytes, their kind, their fields. One
/// thread at a time uses it.
final class Channel: Sendable {
    /// The longest body: a minute of samples in one packet is no packet.
    static let longest = 4 << 20
    /// How often a wait looks at whether it may go on, in milliseconds.
    private static let period: Int32 = 100
    private static let headerBytes = 5

    enum Failure: Error, Hashable {
        /// The other end is closed.
        case closed
        /// The other end sent what is no message.
        case malformed
    }

    private let descriptor: Int32

    /// Takes over a descriptor, which it closes.
    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Closes it for both sides, whoever waits on it.
    func hangUp() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Makes both ends. The second is the descriptor for the other process.
    static func pair() throws -> (Channel, Int32) {
        var ends: [Int32] = [-1, -1]
        guard sandbox_pair(&ends) == 0 else { throw Failure.closed }
        return (Channel(ends[0]), ends[1])
    }

    /// Sends a message, and duplicates of descriptors with it.
    ///
    /// - Parameter check: asked some times a second while the other end takes nothing; what it throws ends the wait.
    func send(_ message: Message, descriptors: [Int32] = [], check: (() throws -> Void)? = nil) throws {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.headerBytes + message.body.count)
        bytes.append32(UInt32(truncatingIfNeeded: message.body.count))
        bytes.append(message.kind)
        bytes += message.body
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { all in
                sandbox_send(
                    descriptor, all.baseAddress.map { $0 + sent }, all.count - sent, descriptors,
                    sent == 0 ? Int32(descriptors.count) : 0)
            }
            let code = errno
            if count > 0 { sent += count } else { try wait(for: POLLOUT, after: code, check) }
        }
    }

    /// The next message.
    func receive(check: (() throws -> Void)? = nil) throws -> Message {
        var none: [Int32] = []
        return try receive(&none, most: 0, check: check)
    }

    /// The next message and the descriptors that came with it.
    func receive(_ descriptors: inout [Int32], most: Int, check: (() throws -> Void)? = nil) throws -> Message {
        let header = try read(Self.headerBytes, &descriptors, most, check)
        var reader = ByteReader(header.span)
        let length = Int(try reader.readUInt32())
        let kind = try reader.readUInt8()
        guard length <= Self.longest else { throw Failure.malformed }
        return Message(kind: kind, body: try read(length, &descriptors, most, check))
    }

    private func read(
        _ wanted: Int, _ descriptors: inout [Int32], _ most: Int, _ check: (() throws -> Void)?
    ) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < wanted {
            // Not all at once: a length that is never sent costs no memory.
            let room = min(wanted - bytes.count, 1 << 16)
            var given = [Int32](repeating: -1, count: most)
            var count = Int32(most)
            var (received, code): (Int, Int32) = (0, 0)
            bytes += [UInt8](unsafeUninitializedCapacity: room) { buffer, used in
                received = given.withUnsafeMutableBufferPointer {
                    sandbox_receive(descriptor, buffer.baseAddress, room, $0.baseAddress, &count)
                }
                code = errno
                used = max(0, received)
            }
            descriptors += given.prefix(Int(count))
            if received == 0 { throw Failure.closed }
            if received < 0 { try wait(for: POLLIN, after: code, check) }
        }
        return bytes
    }

    private func wait(for event: Int32, after code: Int32, _ check: (() throws -> Void)?) throws {
        guard code == EAGAIN || code == EINTR else { throw Failure.closed }
        try check?()
        var polled = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        poll(&polled, 1, check == nil ? -1 : Self.period)
    }
}
