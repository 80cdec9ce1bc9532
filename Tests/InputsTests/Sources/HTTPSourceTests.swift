import Basics
import Codecs
import Foundation
import Streaming
import Testing
import Threads

@testable import Inputs

/// Files of HTTP servers that know no ranges, and of those that are not there.
@Suite struct HTTPSourceTests {
    private static let body = (0..<30_000).map { String(10_000_000 + $0) }.joined()
    private let policy = InputPolicy(
        schemes: ["http"], hosts: [HostPattern("127.0.0.1")].compactMap { $0 }, directory: "")
    private let interrupt = ReadInterrupt { MonotonicClock.now() }

    private func url(_ port: UInt16) throws -> MediaURL { try #require(MediaURL("http://127.0.0.1:\(port)/film.mp4")) }

    /// A server that sends everything each time.
    private func server(length: Int = HTTPSourceTests.body.utf8.count) throws -> LoopbackServer {
        try LoopbackServer { _ in "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n" + Self.body }
    }

    private func read(_ source: HTTPSource, _ count: Int) throws -> String {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var buffer = [UInt8](repeating: 0, count: count - bytes.count)
            let got = try buffer.withUnsafeMutableBytes { try source.read(into: $0) }
            if got == 0 { break }
            bytes += buffer.prefix(got)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func text(_ range: Range<Int>) -> String { String(decoding: Array(Self.body.utf8)[range], as: UTF8.self) }

    @Test func `a file can be read in any order without ranges`() throws {
        let server = try server()
        let source = try HTTPSource(try url(server.port), policy: policy, interrupt: interrupt)
        #expect(source.isSeekable && source.length == Int64(Self.body.utf8.count))
        #expect(try read(source, 8) == "10000000")
        for position in [200_003, 5, 0, 239_990] {
            try source.seek(to: Int64(position))
            #expect(try read(source, 10) == text(position..<position + 10))
        }
        #expect(try read(source, 10).isEmpty, "the end")
    }

    @Test func `a part of a file is that part alone`() throws {
        let server = try server()
        let source = try HTTPSource(try url(server.port), range: 1000..<1016, policy: policy, interrupt: interrupt)
        #expect(try read(source, 100) == text(1000..<1016))
    }

    @Test func `a long file needs ranges, and the refusal says so and stays`() throws {
        let server = try server(length: Int(HTTPSource.longestSkip) + 1)
        let source = try HTTPSource(try url(server.port), policy: policy, interrupt: interrupt)
        #expect(!source.isSeekable && source.length == HTTPSource.longestSkip + 1)
        let error = #expect(throws: StreamingError.self) { try source.seek(to: HTTPSource.longestSkip + 1) }
        #expect(error?.isFinal == true && error?.description.contains("HTTP ranges") == true, "\(error)")
    }

    @Test func `a refused connection says so at once, in plain words`() throws {
        let server = try server()
        server.stop()
        let free = try url(server.port)
        let start = MonotonicClock.now()
        let error = #expect(throws: DemuxError.self) {
            try HTTPSource(free, policy: policy, interrupt: interrupt)
        }
        #expect(error == .failed("the server cannot be reached: Connection refused"))
        #expect(MonotonicClock.now() - start < .seconds(3), "not after the time for a connection")
    }

    @Test func `what a source has is known while it is open, and a little longer`() {
        var status = InputStatus(since: Date(timeIntervalSince1970: 0))
        #expect(!status.hasVideo && !status.hasAudio)
        status.take((video: false, audio: true), attempts: 0)
        #expect(!status.hasVideo && status.hasAudio)
        status.take((video: true, audio: true), attempts: 0)
        status.take(nil, attempts: 1)
        #expect(status.hasVideo, "its last picture stands")
        status.take(nil, attempts: 2)
        #expect(!status.hasVideo && !status.hasAudio)
    }
}
