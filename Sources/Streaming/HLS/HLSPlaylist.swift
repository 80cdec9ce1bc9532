package import Basics
import Foundation

/// The playlists of a stream (RFC 8216bis).
extension HLSWindow {
    /// The playlist of the media.
    ///
    /// - Parameter query: what every address has behind its name: `?token=…`, or nothing.
    package func playlist(query: String) -> String {
        let target = HLSLimits.targetSeconds
        let part = HLSLimits.partTarget
        var lines = [
            "#EXTM3U", "#EXT-X-VERSION:6", "#EXT-X-TARGETDURATION:\(target)",
            "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,HOLD-BACK=\(seconds(Int64(target * 3) * HLSLimits.ticksPerSecond)),"
                + "PART-HOLD-BACK=\(seconds(part * 3))",
            "#EXT-X-PART-INF:PART-TARGET=\(seconds(part))", "#EXT-X-MEDIA-SEQUENCE:\(firstNumber)",
            "#EXT-X-DISCONTINUITY-SEQUENCE:\(discontinuitySequence)", "#EXT-X-INDEPENDENT-SEGMENTS",
        ]
        var header: Int?
        let withParts = listed.suffix(HLSLimits.segmentsWithParts).first?.number ?? 0
        for segment in listed {
            begin(segment, after: &header, query, &lines)
            if segment.number >= withParts { list(segment.parts, query, &lines) }
            lines.append("#EXTINF:\(seconds(segment.duration)),")
            lines.append(HLSFile.segment(segment.number).name(in: id) + query)
        }
        if let current {
            begin(current, after: &header, query, &lines)
            list(current.parts, query, &lines)
        }
        if isEnded {
            lines.append("#EXT-X-ENDLIST")
        } else {
            lines.append("#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"\(HLSFile.part(nextPart).name(in: id))\(query)\"")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func begin(_ segment: HLSSegment, after header: inout Int?, _ query: String, _ lines: inout [String]) {
        if segment.isDiscontinuous { lines.append("#EXT-X-DISCONTINUITY") }
        if header != segment.header {
            lines.append("#EXT-X-MAP:URI=\"\(HLSFile.header(segment.header).name(in: id))\(query)\"")
            header = segment.header
        }
        lines.append("#EXT-X-PROGRAM-DATE-TIME:\(date(of: segment))")
    }

    private func list(_ parts: [HLSPart], _ query: String, _ lines: inout [String]) {
        for part in parts {
            let independent = part.isIndependent ? ",INDEPENDENT=YES" : ""
            lines.append(
                "#EXT-X-PART:DURATION=\(seconds(part.duration)),URI=\"\(HLSFile.part(part.number).name(in: id))\(query)\"\(independent)"
            )
        }
    }

    /// The playlist of the playlists: one, in the room's picture. nil while nothing is known of the media.
    ///
    /// - Parameter videoRate: what the picture's encoder aims at.
    package func multivariant(query: String, videoRate: BitRate) -> String? {
        guard let header else { return nil }
        // A segment may have a quarter more than the encoder aims at; those that are there say how much it was.
        let bitRate = videoRate.bitsPerSecond * 5 / 4 + header.audioBitRate
        let (bytes, time) = (segments.reduce(0) { $0 + $1.byteCount }, segments.reduce(0) { $0 + $1.duration })
        let rates = segments.map { $0.duration > 0 ? $0.byteCount * 8 * 90_000 / Int($0.duration) : 0 }
        let average = time > 0 ? bytes * 8 * 90_000 / Int(time) : bitRate
        let peak = max(rates.max() ?? 0, bitRate)
        return """
            #EXTM3U
            #EXT-X-VERSION:6
            #EXT-X-INDEPENDENT-SEGMENTS
            #EXT-X-STREAM-INF:BANDWIDTH=\(peak),AVERAGE-BANDWIDTH=\(average),CODECS="\(header.codecs)",\
            RESOLUTION=\(header.video.width)x\(header.video.height)
            \(HLSFile.playlist.name(in: id))\(query)

            """
    }

    /// `12.03333`: five digits distinguish ticks of 90 kHz.
    private func seconds(_ ticks: Int64) -> String {
        let rounded = (ticks * 100_000 + HLSLimits.ticksPerSecond / 2) / HLSLimits.ticksPerSecond
        let (whole, rest) = rounded.quotientAndRemainder(dividingBy: 100_000)
        let digits = String(rest)
        return "\(whole)." + String(repeating: "0", count: 5 - digits.count) + digits
    }

    private func date(of segment: HLSSegment) -> String {
        let time = Date(timeIntervalSince1970: epoch + Double(segment.start) / Double(HLSLimits.ticksPerSecond))
        return time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
