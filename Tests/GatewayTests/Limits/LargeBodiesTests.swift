import Basics
import HTTPTypes
import Testing

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import WebServer

@Suite struct LargeBodiesTests {
    @Test func `strangers share their places, and leave those of who is inside alone`() {
        let bodies = LargeBodies()
        var places: [LargeBodies.Permit] = []
        for number in 0..<100 { places += [bodies.take(.v4(UInt32(number % 5)))].compactMap { $0 } }
        #expect(places.filter { !$0.isLost }.count <= LargeBodies.strangers)
        #expect(bodies.take(.v4(99)) != nil, "an address that has nothing")
        var inside: [LargeBodies.Permit] = []
        for number in 0..<LargeBodies.insiders - 1 {
            inside += [bodies.take(.v4(UInt32(number)), as: .inside)].compactMap { $0 }
        }
        #expect(inside.count == LargeBodies.insiders - 1 && inside.allSatisfy { !$0.isLost })
        #expect(bodies.take(.v4(1), as: .administrator) != nil)
    }

    @Test func `a body takes its place when it has come, not when it is announced`() async throws {
        let host = await Host { $0.auth.adminToken = "admin" }
        // ConcurrencyLimit of as many addresses, none of which has more than one that comes would have.
        let bodies = host.endpoints.largeBodies
        var places = (0..<LargeBodies.insiders).map { bodies.take(.v4(0x0A00_0000 + UInt32($0)), as: .inside) }
        let path = "/api/rooms/r/participants/p2/avatar"
        let fields: HTTPFields = [.authorization: "Bearer p2.s", .contentLength: "\(1 << 20)"]
        let small = try await host.ask(.put, path, fields, body: "12345", from: "203.0.113.9")
        #expect(small.status == 204, "it announces 1 MiB and brings five bytes")
        let text = String(repeating: " ", count: LargeBodies.freeBytes + 1)
        let large = try await host.ask(.put, path, fields, body: text, from: "203.0.113.9")
        #expect(large.status == 503 && large.headers[.retryAfter] == "5")
        places.removeAll()
        #expect(try await host.ask(.put, path, fields, body: text, from: "203.0.113.9").status == 204)
    }
}
