/// Joins the packets of one client with their attachments, which come as messages of their own: in the frames that
/// follow, or in later POSTs.
struct PacketAssembler: Sendable {
    struct Assembled: Sendable, Equatable {
        var packet: SocketPacket
        var attachments: [BinaryMessage] = []
    }

    /// The most bytes of one event's attachments: a picture of the largest size.
    static let maxBytes = 8 << 20

    private let budget: ByteBudget
    private var open: Assembled?
    private var bytes = 0

    /// - Parameter budget: the bytes of attachments of all clients together.
    init(budget: ByteBudget) { self.budget = budget }

    /// Takes a message. Returns a packet that is complete with it.
    mutating func take(_ content: EnginePacket.Content) throws(SocketFault) -> Assembled? {
        switch content {
        case .text(let text): try take(text)
        case .binary(let attachment): try take(attachment)
        }
    }

    private mutating func take(_ text: String) throws(SocketFault) -> Assembled? {
        guard open == nil else { throw .unexpected }
        let packet = try SocketPacket(parsing: text)
        guard packet.attachments > 0 else { return Assembled(packet: packet) }
        open = Assembled(packet: packet)
        bytes = 0
        return nil
    }

    private mutating func take(_ attachment: BinaryMessage) throws(SocketFault) -> Assembled? {
        guard var assembled = open else { throw .unexpected }
        bytes += attachment.count
        guard bytes <= PacketAssembler.maxBytes else { throw .tooLarge }
        guard let share = budget.take(attachment.count) else { throw .busy }
        assembled.attachments.append(attachment.holding(share))
        guard assembled.attachments.count == assembled.packet.attachments else {
            open = assembled
            return nil
        }
        open = nil
        return assembled
    }
}
