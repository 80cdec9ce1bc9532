package import NIOCore
package import NIOWebSocket
package import WebServer

/// What a frame of a room's owner says to the node at the other end of a pipe.
package enum PipeFrame: Equatable {
    case text(ByteBuffer)
    case binary(ByteBuffer)
    /// A ping, which is to be answered with its data.
    case ping(SocketNotice?, ByteBuffer)
    /// The owner's close frame: its code, 1000 without one, and its reason.
    case close(UInt16, String)
    case other

    package init(_ frame: WebSocketFrame) {
        var data = frame.unmaskedData
        switch frame.opcode {
        case .text: self = .text(data)
        case .binary: self = .binary(data)
        case .ping: self = .ping(SocketNotice(rawValue: String(buffer: data)), data)
        case .connectionClose:
            let code = data.readInteger(as: UInt16.self) ?? 1000
            self = .close(code, String(buffer: data))
        default: self = .other
        }
    }
}
