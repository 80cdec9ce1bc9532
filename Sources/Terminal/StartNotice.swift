package import Basics
package import WebServer

/// What a server prints once it listens: where its own machine opens the page, and where others do.
package struct StartNotice: Sendable {
    package var version: String
    /// `http.listen`, with the port that it has.
    package var listen: Endpoint
    /// `http.tls`.
    package var isSecure: Bool
    /// Whether the certificate is made at the start.
    package var isSelfSigned = false
    /// `http.publicURL`.
    package var publicURL = ""
    /// Of the local network, the likeliest first.
    package var addresses: [IPAddress] = []
    package var terminal: Terminal
    /// Whether a QR code is wanted.
    package var wantsCode = true

    package init(
        version: String, listen: Endpoint, isSecure: Bool, isSelfSigned: Bool = false, publicURL: String = "",
        addresses: [IPAddress] = [], terminal: Terminal, wantsCode: Bool = true
    ) {
        self.version = version
        self.listen = listen
        self.isSecure = isSecure
        self.isSelfSigned = isSelfSigned
        self.publicURL = publicURL
        self.addresses = addresses
        self.terminal = terminal
        self.wantsCode = wantsCode
    }

    private var isAny: Bool { IPAddress(listen.host)?.isUnspecified ?? false }
    private var isHere: Bool { listen.host == "localhost" || IPAddress(listen.host)?.isLoopback == true }

    /// The server's address for a client on this machine.
    package var here: PublicAddress {
        PublicAddress(
            isSecure: isSecure, authority: "\(Endpoint(host: isAny ? "localhost" : listen.host, port: listen.port))")
    }

    /// The addresses for other machines.
    private var others: [String] {
        if !publicURL.isEmpty { return [publicURL.hasSuffix("/") ? publicURL : publicURL + "/"] }
        guard isAny else { return isHere ? [] : [here.http("/")] }
        let fits = addresses.filter { address in
            // `::` takes IPv4 too, 0.0.0.0 takes nothing else.
            if case .v6 = address { listen.host.contains(":") } else { true }
        }
        return fits.map {
            PublicAddress(isSecure: isSecure, authority: "\(Endpoint(host: $0.description, port: listen.port))").http(
                "/")
        }
    }

    package var lines: [String] {
        ["Tessera \(version) is ready: open \(here.http("/"))"] + (isAny || !publicURL.isEmpty ? forOthers : []) + code
    }

    private var forOthers: [String] {
        let urls = others.map { "  " + $0 }
        if !publicURL.isEmpty { return ["Everybody else opens"] + urls }
        if isSecure {
            guard !urls.isEmpty else { return [] }
            let warning =
                "The certificate is signed by this server itself: each browser warns of it, and lets its user go on."
            return ["Colleagues and phones in this network open"] + urls + (isSelfSigned ? [warning] : [])
        }
        let advice =
            "From other machines, browsers allow camera and microphone over HTTPS only: start with --http-tls-self-signed, set http.tls, or put a proxy in front."
        guard terminal.isTerminal, !urls.isEmpty else { return [advice] }
        return [advice, "Without it they can listen and watch at"] + urls
    }

    /// Of the first address for others, where phones can make a call by it and the terminal can show it.
    private var code: [String] {
        guard wantsCode, terminal.showsPictures, let url = others.first, url.hasPrefix("https:"),
            let code = QRCode(url),
            TerminalPicture.width(of: code) <= terminal.columns
        else { return [] }
        return TerminalPicture.lines(code)
    }
}
