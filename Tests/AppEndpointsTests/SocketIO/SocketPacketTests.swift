import Basics
import Testing

@testable import Admission
@testable import AppEndpoints
@testable import WebServer

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
        var assembler = assembler()
        #expect(try assembler.take(.text(#"2["a"]"#))?.packet.event?.name == "a")
        #expect(try assembler.take(header) == nil && assembler.take(.binary(BinaryMessage([1]))) == nil)
        #expect(
            try assembler.take(.binary(BinaryMessage([2])))?.attachments == [BinaryMessage([1]), BinaryMessage([2])])
    }

    @Test func `text between attachments and bytes without an event are unexpected`() throws {
        var assembler = assembler()
        #expect(throws: SocketFault.unexpected) { try assembler.take(.binary(BinaryMessage([1]))) }
        _ = try assembler.take(header)
        #expect(throws: SocketFault.unexpected) { try assembler.take(.text("1")) }
    }

    @Test func `an event that finds no place is dropped, and the next one is taken`() throws {
        // The header waits for its attachments, and counts as they do.
        let text = 47
        let budget = ByteBudget(2 * (20 + 2 * text), perAddress: 10 + 2 * text)
        let six = BinaryMessage([UInt8](repeating: 0, count: 6))
        var (one, two, other) = (assembler(budget), assembler(budget), assembler(budget, .v4(2)))
        for _ in 0..<2 {
            _ = try one.take(header)
            _ = try one.take(.binary(six))
            #expect(budget.used == text + 6 && one.heldBytes == text + 6)
            // A second client of the address.
            _ = try two.take(header)
            #expect(try two.take(.binary(six)) == nil && two.take(.binary(BinaryMessage([1])))?.isCut == true)
            #expect(try two.take(.text("2[\"a\"]"))?.packet.event?.name == "a")
            // A client of another address.
            _ = try other.take(header)
            #expect(try other.take(.binary(BinaryMessage([1]))) == nil && budget.used == 2 * text + 7)
            #expect(try other.take(.binary(BinaryMessage([2]))) != nil)
            // The packet's last reader is gone.
            #expect(try one.take(.binary(BinaryMessage([3])))?.attachments.count == 2)
            #expect(budget.used == 0 && one.heldBytes == 0)
        }
    }

    @Test func `an event that is left out takes its attachments with it, unparsed`() throws {
        var assembler = assembler()
        let head = try SocketPacket.Head(parsing: #"52-["chat",{"no":JSON"#)
        #expect(head.kind == .binaryEvent && head.attachments == 2)
        try assembler.skip(head)
        #expect(throws: SocketFault.unexpected) { try assembler.skip(head) }
        #expect(try assembler.take(.binary(BinaryMessage([1]))) == nil)
        let left = try #require(try assembler.take(.binary(BinaryMessage([2]))))
        #expect(left.isCut && left.attachments.isEmpty && left.packet.event == nil && assembler.heldBytes == 0)
        #expect(try assembler.take(.text("2[\"a\"]"))?.packet.event?.name == "a")
        try assembler.skip(try SocketPacket.Head(parsing: "43[]"))
        #expect(try assembler.take(.text("2[\"a\"]")) != nil, "a text without attachments is over at once")
    }

    @Test(arguments: ["", "x", "9", "5-[]", "55-[]", "5x-[]"]) func `broken heads`(text: String) {
        #expect(throws: SocketFault.self) { try SocketPacket.Head(parsing: text) }
    }

    @Test func `headers that wait for attachments find no place either`() throws {
        var assembler = assembler(ByteBudget(10, perAddress: 10))
        #expect(try assembler.take(header) == nil && assembler.heldBytes == 0)
        #expect(try assembler.take(.binary(BinaryMessage([1]))) == nil)
        let cut = try #require(try assembler.take(.binary(BinaryMessage([1]))))
        #expect(cut.isCut && cut.attachments.isEmpty && cut.packet.event?.arguments.isEmpty == true)
        #expect(try assembler.take(.text("2[\"a\"]")) != nil)
    }

    @Test func `an event has a limited number of bytes`() throws {
        var assembler = assembler(ByteBudget(.max, perAddress: .max))
        _ = try assembler.take(header)
        _ = try assembler.take(.binary(BinaryMessage([UInt8](repeating: 0, count: PacketAssembler.maxBytes))))
        let cut = try #require(try assembler.take(.binary(BinaryMessage([0]))))
        #expect(cut.isCut && cut.attachments.isEmpty, "its sender waits for the acknowledgement")
        #expect(try assembler.take(.text("1"))?.packet.kind == .disconnect)
    }

    private func assembler(
        _ budget: ByteBudget = ByteBudget(100, perAddress: 100), _ address: IPAddress = .v4(1)
    ) -> PacketAssembler {
        PacketAssembler(budget: budget, address: address)
    }
}
