package import Basics
import WebServer

/// Joins the packets of one client with their attachments, which come as messages of their own: in the frames that
/// follow, or in later POSTs.
package struct PacketAssembler: Sendable {
    package struct Assembled: Sendable, Equatable {
        var packet: SocketPacket
        var attachments: [BinaryMessage] = []
        /// The attachments were too large, or found no place, and are not here.
        var isCut = false
    }

    /// The most bytes of one event's attachments: a picture of the largest size.
    package static let maxBytes = 8 << 20

    private let budget: ByteBudget
    private let address: IPAddress?
    private var open: Assembled?
    /// The place of the open event's text.
    private var text: ByteBudget.Share?
    /// Attachments of the open event that have come, and their bytes.
    private var count = 0
    private var bytes = 0
    /// The attachments of the open event are too large, or find no place: the event comes without them.
    private var isDropped = false

    /// - Parameters:
    ///   - budget: the bytes of attachments of all clients together.
    ///   - address: the client's, for whom they count.
    package init(budget: ByteBudget, address: IPAddress?) {
        self.budget = budget
        self.address = address
    }

    /// The bytes that the open event holds.
    package private(set) var heldBytes = 0

    /// Takes a message. Returns a packet that is complete with it.
    package mutating func take(_ content: EnginePacket.Content) throws(SocketFault) -> Assembled? {
        switch content {
        case .text(let text): try take(text)
        case .shared(let text): try take(text.text)
        case .binary(let attachment): try take(attachment)
        }
    }

    private mutating func take(_ text: String) throws(SocketFault) -> Assembled? {
        guard open == nil else { throw .unexpected }
        let packet = try SocketPacket(parsing: text)
        guard packet.attachments > 0 else { return Assembled(packet: packet) }
        let share = budget.take(text.utf8.count, for: address)
        if share == nil {
            // What its answer needs.
            let name = packet.event.map { JSONValue.array([.string($0.name)]) }
            begin(SocketPacket(packet.kind, id: packet.id, data: name, attachments: packet.attachments))
            isDropped = true
        } else {
            begin(packet)
            heldBytes = text.utf8.count
        }
        self.text = share
        return nil
    }

    /// Leaves a packet out, with the attachments that it announces.
    package mutating func skip(_ head: SocketPacket.Head) throws(SocketFault) {
        guard open == nil else { throw .unexpected }
        guard head.attachments > 0 else { return }
        begin(SocketPacket(head.kind, attachments: head.attachments))
        isDropped = true
    }

    private mutating func begin(_ packet: SocketPacket) {
        open = Assembled(packet: packet)
        (count, bytes, heldBytes, isDropped) = (0, 0, 0, false)
    }

    private mutating func take(_ attachment: BinaryMessage) throws(SocketFault) -> Assembled? {
        guard var assembled = open else { throw .unexpected }
        count += 1
        bytes += attachment.count
        if !isDropped, bytes <= PacketAssembler.maxBytes, let share = budget.take(attachment.count, for: address) {
            assembled.attachments.append(attachment.holding(share))
            heldBytes += attachment.count
        } else {
            isDropped = true
            assembled.attachments = []
            heldBytes = 0
        }
        open = assembled
        guard count == assembled.packet.attachments else { return nil }
        open = nil
        text = nil
        heldBytes = 0
        assembled.isCut = isDropped
        return assembled
    }
}
