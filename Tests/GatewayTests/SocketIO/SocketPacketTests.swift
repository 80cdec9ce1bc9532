import Testing

@testable import Gateway

@Suite struct SocketPacketTests {
    @Test(arguments: [
        "0", "1", #"2["chat",{"a":1}]"#, #"27["chat",{}]"#, #"37["x"]"#, #"4"no""#,
        #"51-7["chat",{"a":{"_placeholder":true,"num":0}}]"#, #"62-3[1]"#, "0/admin,", #"2/admin,4["a"]"#,
    ])
    func `a packet is written as it was read`(text: String) throws {
        #expect(try SocketPacket(parsing: text).text == text)
    }

    @Test func `the parts of a binary event`() throws {
        let packet = try SocketPacket(parsing: #"52-/chat,12["chat",{"a":1},"b"]"#)
        #expect(packet.kind == .binaryEvent && packet.attachments == 2)
        #expect(packet.namespace == "/chat" && packet.id == 12)
        #expect(packet.event?.name == "chat" && Array(packet.event?.arguments ?? []) == [["a": 1], "b"])
        #expect(try SocketPacket(parsing: "2[1]").event == nil)
    }

    @Test(arguments: [
        "", "7", "x", "5[]", "5-[]", "51[]", "2{", "2[\"a\"", "2[\"a\"]x", "21234567890123456789[]",
        "51234567890123456789-[]",
    ])
    func `a text that is no packet is refused`(text: String) {
        #expect(throws: SocketFault.malformed) { try SocketPacket(parsing: text) }
    }

    @Test func `size, attachments, nesting and values are limited`() {
        #expect(throws: SocketFault.tooManyAttachments) { try SocketPacket(parsing: "55-[]") }
        #expect(throws: SocketFault.tooLarge) {
            try SocketPacket(parsing: "2[\"" + String(repeating: "a", count: SocketPacket.maxBytes) + "\"]")
        }
        let deep = String(repeating: "[", count: 100_000)
        #expect(throws: SocketFault.malformed) { try SocketPacket(parsing: "2" + deep) }
        let long = "2[" + Array(repeating: "1", count: 2000).joined(separator: ",") + "]"
        #expect(throws: SocketFault.malformed) { try SocketPacket(parsing: long) }
    }
}

@Suite struct PacketAssemblerTests {
    private let header = EnginePacket.Content.text(#"52-["chat",{"a":{"_placeholder":true,"num":0}}]"#)

    @Test func `an event is complete with its last attachment`() throws {
        var assembler = PacketAssembler(budget: ByteBudget(100))
        #expect(try assembler.take(.text(#"2["a"]"#))?.packet.event?.name == "a")
        #expect(try assembler.take(header) == nil && assembler.take(.binary(BinaryMessage([1]))) == nil)
        #expect(
            try assembler.take(.binary(BinaryMessage([2])))?.attachments == [BinaryMessage([1]), BinaryMessage([2])])
    }

    @Test func `text between attachments and bytes without an event are unexpected`() throws {
        var assembler = PacketAssembler(budget: ByteBudget(100))
        #expect(throws: SocketFault.unexpected) { try assembler.take(.binary(BinaryMessage([1]))) }
        _ = try assembler.take(header)
        #expect(throws: SocketFault.unexpected) { try assembler.take(.text("1")) }
    }

    @Test func `the bytes of all clients share a budget, which the last reader gives back`() throws {
        let budget = ByteBudget(10)
        var (one, other) = (PacketAssembler(budget: budget), PacketAssembler(budget: budget))
        _ = try one.take(header)
        _ = try one.take(.binary(BinaryMessage([UInt8](repeating: 0, count: 6))))
        #expect(budget.used == 6)
        _ = try other.take(header)
        #expect(throws: SocketFault.busy) { try other.take(.binary(BinaryMessage([UInt8](repeating: 0, count: 5)))) }
        one = PacketAssembler(budget: budget)
        #expect(budget.used == 0)
    }

    @Test func `an event has a limited number of bytes`() throws {
        var assembler = PacketAssembler(budget: ByteBudget(.max))
        _ = try assembler.take(header)
        _ = try assembler.take(.binary(BinaryMessage([UInt8](repeating: 0, count: PacketAssembler.maxBytes))))
        #expect(throws: SocketFault.tooLarge) { try assembler.take(.binary(BinaryMessage([0]))) }
    }
}
