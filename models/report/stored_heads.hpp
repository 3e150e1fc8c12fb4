#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/bounds/head_certificate.hpp"

namespace softcheck::models {

/// The numbers of a certificate for a file. Of its head it has the place in the model alone.
nlohmann::json stored_head(const HeadCertificate& certificate);

/// The certificate that was stored: enclosures as wide as their ends in double.
///
/// throws   std::invalid_argument or nlohmann::json::exception where the entry is none
HeadCertificate head_from(const nlohmann::json& entry);

}  // namespace softcheck::models
