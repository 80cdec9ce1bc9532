import Basics
import Testing

@testable import Streaming

@Suite struct HLSPlaylistTests {
    @Test func `a playlist, line by line`() {
        var feed = HLSFeed()
        feed.run(6.6, keyframes: [0, 4])
        let expected = """
            #EXTM3U
            #EXT-X-VERSION:6
            #EXT-X-TARGETDURATION:4
            #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,HOLD-BACK=12.00000,PART-HOLD-BACK=1.50000
            #EXT-X-PART-INF:PART-TARGET=0.50000
            #EXT-X-MEDIA-SEQUENCE:0
            #EXT-X-DISCONTINUITY-SEQUENCE:0
            #EXT-X-INDEPENDENT-SEGMENTS
            #EXT-X-MAP:URI="abc-h1.mp4?t=1"
            #EXT-X-PROGRAM-DATE-TIME:1970-01-12T13:46:40.000Z
            #EXT-X-PART:DURATION=0.50000,URI="abc-p0.m4s?t=1",INDEPENDENT=YES
            #EXT-X-PART:DURATION=0.50000,URI="abc-p1.m4s?t=1"
            #EXT-X-PART:DURATION=0.50000,URI="abc-p2.m4s?t=1"
            #EXT-X-PART:DURATION=0.50000,URI="abc-p3.m4s?t=1"
            #EXT-X-PART:DURATION=0.50000,URI="abc-p4.m4s?t=1"
            #EXT-X-PART:DURATION=0.50000,URI="abc-p5.m4s?t=1"
            #EXT-X-PART:DURATION=0.50000,URI="abc-p6.m4s?t=1"
            #EXT-X-PART:DURATION=0.50000,URI="abc-p7.m4s?t=1"
            #EXTINF:4.00000,
            abc-s0.m4s?t=1
            #EXT-X-PROGRAM-DATE-TIME:1970-01-12T13:46:44.000Z
            #EXT-X-PART:DURATION=0.50000,URI="abc-p8.m4s?t=1",INDEPENDENT=YES
            #EXT-X-PART:DURATION=0.50000,URI="abc-p9.m4s?t=1"
            #EXT-X-PART:DURATION=0.50000,URI="abc-p10.m4s?t=1"
            #EXT-X-PART:DURATION=0.50000,URI="abc-p11.m4s?t=1"
            #EXT-X-PART:DURATION=0.50000,URI="abc-p12.m4s?t=1"
            #EXT-X-PRELOAD-HINT:TYPE=PART,URI="abc-p13.m4s?t=1"

            """
        #expect(feed.window.playlist(query: "?t=1") == expected)
        feed.packager.finish()
        let end = feed.window.playlist(query: "")
        #expect(end.hasSuffix("#EXT-X-ENDLIST\n") && !end.contains("PRELOAD-HINT"))
    }

    @Test func `the playlist of playlists says codecs, size and rate`() throws {
        var feed = HLSFeed()
        #expect(feed.window.multivariant(query: "", videoRate: .kilobits(1000)) == nil)
        feed.run(1)
        let text = try #require(feed.window.multivariant(query: "?token=x", videoRate: .kilobits(1000)))
        let codec = try #require(text.firstMatch(of: #/CODECS="(avc1\.[0-9a-f]{6}),mp4a\.40\.2"/#)?.1)
        #expect(codec.hasPrefix("avc1.42"))
        #expect(text.contains("BANDWIDTH=1346000,") && text.contains("RESOLUTION=160x96\nabc.m3u8?token=x\n"))
    }

    @Test func `six segments are listed, the parts of the last three, and two more segments can be fetched`() {
        var feed = HLSFeed()
        feed.run(50, keyframes: Array(stride(from: 0, through: 48, by: 4)))
        let window = feed.window
        let text = window.playlist(query: "")
        #expect(text.contains("#EXT-X-MEDIA-SEQUENCE:6\n"))
        #expect(text.matches(of: #/#EXTINF/#).count == 6)
        #expect(text.matches(of: #/#EXT-X-PART:/#).count == 3 * 8 + 3)
        #expect((0..<12).map { window.media(.segment($0)) != nil } == (0..<12).map { $0 >= 4 })
        #expect(window.media(.part(32)) != nil && window.media(.part(31)) == nil)
        let kept = window.segments.reduce(0) { $0 + $1.byteCount } + (window.current?.byteCount ?? 0)
        #expect(window.byteCount == kept)
        #expect(window.headers.count == 1)
    }

    @Test func `discontinuities that have left the playlist are counted`() {
        var feed = HLSFeed()
        for _ in 0..<10 {
            feed.run(3)
            feed.pass(3)
        }
        feed.packager.interrupt()
        let window = feed.window
        // The first segment of a stream is none.
        #expect(window.firstNumber == 4 && window.discontinuitySequence == 3)
        #expect(window.playlist(query: "").matches(of: #/#EXT-X-DISCONTINUITY\n/#).count == 6)
    }

    @Test func `a stream keeps no more bytes than it may`() {
        var limits = HLSLimits()
        limits.bytes = 40_000
        var feed = HLSFeed(limits: limits)
        feed.run(40, keyframes: Array(stride(from: 0, through: 36, by: 4)))
        #expect(feed.window.byteCount <= 40_000 && feed.window.segments.count < 6)
        #expect(feed.window.playlist(query: "").contains("#EXT-X-MEDIA-SEQUENCE:\(feed.window.firstNumber)\n"))
        feed.packager.clear()
        #expect(feed.window.byteCount == 0 && feed.window.firstNumber == 10)
    }

    @Test func `what a request waits for`() {
        var feed = HLSFeed()
        #expect(feed.window.wait(forSegment: nil, part: nil) == .waiting)
        #expect(feed.window.wait(forSegment: 0, part: 0) == .waiting)
        #expect(feed.window.wait(forSegment: 2, part: nil) == .never)
        feed.run(5.6, keyframes: [0, 4])
        // Segment 0 has the parts 0…7, segment 1 so far 0…2.
        let cases: [(Int?, Int?, HLSWindow.Wait)] = [
            (nil, nil, .waiting), (0, nil, .ready), (0, 7, .ready), (0, 8, .ready), (1, 2, .ready), (1, nil, .waiting),
            (1, 3, .waiting), (1, 8, .waiting), (1, 9, .never), (1, 999_999_999, .never), (2, nil, .waiting),
            (2, 0, .waiting), (2, 6, .never), (3, nil, .never), (999_999_999, 0, .never),
        ]
        for (segment, part, wait) in cases {
            #expect(feed.window.wait(forSegment: segment, part: part) == wait, "\(segment ?? -1).\(part ?? -1)")
        }
        for (file, wait) in [
            (.part(10), .ready), (.part(11), .waiting), (.part(12), .never), (.segment(0), .ready),
            (.segment(1), .never), (.header(1), .ready), (.header(2), .never),
        ] as [(HLSFile, HLSWindow.Wait)] {
            #expect(feed.window.wait(for: file) == wait, "\(file)")
        }
        feed.run(6.5, keyframes: [2.4, 6.4])
        #expect(feed.window.wait(forSegment: nil, part: nil) == .ready)
        feed.packager.clear()
        #expect(feed.window.wait(forSegment: nil, part: nil) == .waiting)
        feed.run(4.5, keyframes: [0, 4])
        #expect(feed.window.wait(forSegment: nil, part: nil) == .waiting && feed.window.firstNumber == 4)
        feed.packager.finish()
        #expect(feed.window.wait(forSegment: 999_999_999, part: 7) == .ready, "it ends the player")
        #expect(feed.window.wait(for: .part(999)) == .never)
    }

    @Test func `names of files`() {
        for file in [HLSFile.playlist, .header(1), .segment(20), .part(999_999_999)] {
            let read = HLSFile.parse(file.name(in: "x7"))
            #expect(read?.stream == "x7" && read?.file == file)
        }
        for name in [
            "", ".", "-", "x", "x.mp4", "x-h1.m4s", "x-p1.mp4", "x-p.m4s", "x-p-1.m4s", "x-p+1.m4s",
            "x-p1234567890.m4s",
            "x-pé.m4s", "x-p1.m4s.m4s", "x-y-p1.m4s", "x-p١.m4s", String(repeating: "x", count: 70) + ".m3u8",
        ] {
            #expect(HLSFile.parse(name) == nil, "\(name)")
        }
    }
}
