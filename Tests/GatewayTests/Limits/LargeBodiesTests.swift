import Basics
import HTTPTypes
import Testing

@testable import Gateway

@Suite struct LargeBodiesTests {
    @Test func `strangers share their places, and leave those of who is inside alone`() {
        let bodies = LargeBodies()
        var places: [LargeBodies.Place] = []
        for number in 0..<100 { places += [bodies.take(.v4(UInt32(number % 5)))].compactMap { $0 } }
        #expect(places.filter { !$0.isLost }.count <= LargeBodies.strangers)
        #expect(bodies.take(.v4(99)) != nil, "an address that has nothing")
        var inside: [LargeBodies.Place] = []
        for number in 0..<LargeBodies.insiders - 1 {
            inside += [bodies.take(.v4(UInt32(number)), as: .inside)].compactMap { $0 }
        }
        #expect(inside.count == LargeBodies.insiders - 1 && inside.allSatisfy { !$0.isLost })
        #expect(bodies.take(.v4(1), as: .administrator) != nil)
    }

    private static let form: HTTPFields = [
        .contentType: "multipart/form-data; boundary=x", .contentLength: "\(4 << 20)",
    ]

    @Test func `a body takes its place when it has come, not when it is announced`() async throws {
        let host = await Host()
        // Places of as many addresses, none of which has more than one that comes would have.
        let bodies = host.endpoints.largeBodies
        var places = (0..<LargeBodies.strangers).map { bodies.take(.v4(0x0A00_0000 + UInt32($0))) }
        let small = try await host.ask(.post, "/uploadFiles", Self.form, body: "--x--", from: "203.0.113.9")
        #expect(small.status == 200, "it announces 4 MiB and brings five bytes")
        let text = String(repeating: " ", count: LargeBodies.freeBytes + 1)
        let large = try await host.ask(.post, "/uploadFiles", Self.form, body: text, from: "203.0.113.9")
        #expect(large.status == 503 && large.headers[.retryAfter] == "5")
        places.removeAll()
        let later = try await host.ask(.post, "/uploadFiles", Self.form, body: text, from: "203.0.113.9")
        #expect(later.status == 400, "the form has no boundary")
    }
}
