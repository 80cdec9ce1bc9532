package import Basics
import Codecs
package import Streaming

/// What inputs may be pulled from. Every connection that an input makes is checked, with the address that it goes to.
package struct InputPolicy: Hashable, Sendable {
    package var addresses: AddressPolicy
    /// The folder of files; empty: none is read.
    package var directory: String

    package init(schemes: Set<String>, hosts: [HostPattern], directory: String) {
        addresses = AddressPolicy(schemes: schemes, hosts: hosts, key: "inputs.hosts")
        self.directory = directory
    }

    /// Throws what can be said against the address without a look-up.
    package func check(_ address: InputAddress) throws(StreamingError) {
        switch address {
        case .file:
            guard addresses.schemes.contains("file"), !directory.isEmpty else {
                throw .refused("url: this server reads no files: inputs.directory and inputs.schemes must permit it.")
            }
        case .url(let url):
            guard InputAddress.schemes.contains(url.scheme) else {
                throw .refused("url: \(url.scheme):// is no input; inputs are srt, rtmp, rtsp, http and https URLs.")
            }
            if url.scheme == "srt", try SRTSettings(url).isListener {
                guard addresses.schemes.contains("srt") else { return try addresses.check(url) }
                return
            }
            try addresses.check(url)
        }
    }

    /// The address to connect to. Looks the name up, which may block for some seconds.
    package func address(of url: MediaURL) throws(StreamingError) -> IPAddress {
        let found = try addresses.resolve(url)
        // Without a route for IPv6 it would cost a time-out.
        func isV4(_ address: IPAddress) -> Bool { if case .v4 = address { true } else { false } }
        guard let first = found.first(where: isV4) ?? found.first else {
            throw .failed("The name \(url.host) has no address.")
        }
        return first
    }
}

extension StreamingError: FinalError {
    package var isFinal: Bool { !isPassing }
}
