import Basics
import Codecs
import Foundation
import Streaming
import Testing
import Threads

@testable import Inputs

/// The program itself as the process, with its rights gone.
@Suite struct SourceProcessTests {
    /// Beside the program of the tests.
    private static let program: String = {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return own.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/tessera"
    }()

    private func opener(_ schemes: Set<String> = ["file"]) throws -> InputOpener {
        InputOpener(
            policy: InputPolicy(
                schemes: schemes, hosts: [try #require(HostPattern("127.0.0.1"))], directory: Media.folder),
            maxPixels: 1920 * 1088, program: Self.program)
    }

    private func open(_ name: String) throws -> RemoteDemuxer {
        try opener().open(.file(name), ReadInterrupt { MonotonicClock.now() })
    }

    @Test(arguments: Media.taken)
    func `a file of a listed codec is decoded`(name: String) throws {
        let demuxer = try open(name)
        defer { demuxer.close() }
        var (pictures, samples): (Int, [Float]) = (0, [])
        var brightness: [Int] = []
        func take(_ picture: Picture, _ time: Duration?) {
            pictures += 1
            brightness.append((0..<picture.width).reduce(0) { $0 + Int(picture.y[$1]) } / picture.width)
        }
        while let packet = try demuxer.next() {
            switch packet.kind {
            case .video: try demuxer.video?.decode(packet, take)
            case .audio: _ = try demuxer.audio?.decode(packet, into: &samples)
            }
        }
        try demuxer.video?.decode(nil, take)
        if demuxer.audio != nil { _ = try demuxer.audio?.decode(nil, into: &samples) }
        #expect(demuxer.video == nil || pictures >= 2, "\(pictures)")
        // The test picture is neither black nor white in its first row.
        #expect(brightness.allSatisfy { (40...220).contains($0) }, "\(brightness)")
        #expect(demuxer.audio == nil || samples.count >= 3000 && samples.contains { abs($0) > 0.05 })
    }

    @Test(arguments: Media.refused)
    func `a file of another codec is refused with its name`(name: String) throws {
        do {
            try open(name).close()
            Issue.record("it was opened")
        } catch let error as DemuxError {
            guard case .noMedia(let reason) = error else { throw error }
            #expect(reason.contains(Media.codec(of: name)), "\(reason)")
        }
    }

    @Test func `its rights are gone`() throws {
        let demuxer = try open("taken-h264.mov")
        defer { demuxer.close() }
        let process = try #require(demuxer.processNumber)
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        #expect(status.contains("NoNewPrivs:\t1") && status.contains("Seccomp:\t2"), "\(status)")
        let limits = try String(contentsOfFile: "/proc/\(process)/limits", encoding: .utf8)
        for (name, wanted) in [("Max data size", "468975616"), ("Max cpu time", "3"), ("Max core file size", "0")] {
            let line = limits.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
            let value = line.dropFirst(name.count).split(separator: " ").first ?? ""
            #expect(value.hasPrefix(wanted), "\(line)")
        }
        // Its channels, the file, nowhere to write to, and what libdispatch's threads wait by.
        let all = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").map {
            try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/\($0)")
        }
        let open = all.filter { !["eventpoll", "timerfd", "eventfd"].map { "anon_inode:[\($0)]" }.contains($0) }
        #expect(open.filter { $0.hasPrefix("socket:") }.count == 2 && open.count == 4, "\(open)")
        #expect(open.contains("/dev/null") && open.contains { $0.hasSuffix("taken-h264.mov") }, "\(open)")
    }

    /// Of a signal that dumps core a process ends when the thread runs that takes it: on a busy machine the others may have
    /// read a short file before.
    private func waitForEnd(of process: Int32) throws {
        for _ in 0..<30_000 {
            // The state stands behind the program's name, which is in brackets.
            guard let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
                let state = status.split(separator: ") ").last?.first, state != "Z"
            else { return }
            usleep(1000)
        }
        Issue.record("process \(process) goes on")
    }

    @Test(arguments: [SIGSEGV, SIGXCPU, SIGKILL])
    func `a process that dies ends its input with an error that says so`(signal: Int32) throws {
        let demuxer = try open("taken-h264.mov")
        defer { demuxer.close() }
        let process = try #require(demuxer.processNumber)
        kill(process, signal)
        try waitForEnd(of: process)
        do {
            while try demuxer.next() != nil {}
            Issue.record("it went on")
        } catch {
            let wanted = [
                SIGSEGV: "has crashed (signal 11)", SIGXCPU: "more processor time", SIGKILL: "has ended",
            ]
            #expect("\(error)".contains(wanted[signal] ?? "?"), "\(error)")
        }
        #expect(demuxer.processNumber == nil)
        #expect(throws: CodecError.self) { try demuxer.video?.decode(nil) { _, _ in } }
    }

    @Test func `a process that is stopped in the middle is ended at the deadline`() throws {
        let interrupt = ReadInterrupt { MonotonicClock.now() }
        let demuxer = try opener().open(.file("taken-h264.mov"), interrupt)
        let process = try #require(demuxer.processNumber)
        kill(process, SIGSTOP)
        interrupt.cancel()
        #expect(throws: DemuxError.cancelled) { _ = try demuxer.next() }
        #expect(kill(process, 0) != 0)
    }

    @Test func `a program that is none of ours is an error, and ends`() throws {
        for program in ["/bin/true", "/nonexistent"] {
            let opener = InputOpener(
                policy: InputPolicy(schemes: ["file"], hosts: [], directory: Media.folder), maxPixels: 10_000,
                program: program)
            #expect(throws: DemuxError.self) {
                try opener.open(.file("taken-h264.mov"), ReadInterrupt { MonotonicClock.now() })
            }
        }
    }

    @Test(arguments: ["rtsp"])
    func `a redirection leads to no connection`(scheme: String) throws {
        let trap = try LoopbackServer { _ in nil }
        let server = try LoopbackServer { request in
            let sequence = request.split(separator: "\r\n").first { $0.hasPrefix("CSeq:") } ?? "CSeq: 1"
            return "RTSP/1.0 302 Moved\r\n\(sequence)\r\nLocation: rtsp://127.0.0.1:\(trap.port)/x\r\n\r\n"
        }
        let url = try #require(MediaURL("\(scheme)://127.0.0.1:\(server.port)/x"))
        let interrupt = ReadInterrupt { MonotonicClock.now() }
        #expect(throws: DemuxError.redirected) { try opener([scheme]).open(.url(url), interrupt) }
        #expect(server.connections == 1 && trap.connections == 0)
    }
}
