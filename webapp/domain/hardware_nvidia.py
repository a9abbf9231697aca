"""NVIDIA cards: published dense peaks and rental prices, each with its source."""

from decimal import Decimal

from webapp.domain.accelerator import Accelerator

NVIDIA = (
    Accelerator(
        name="NVIDIA T4",
        vendor="NVIDIA",
        memory_gb=16,
        bandwidth_gb_s=320,
        bf16_tflops=65,
        int8_tops=130,
        tdp_w=70,
        price_per_hour=Decimal("0.59"),
        price_low=Decimal("0.59"),
        price_high=Decimal("0.81"),
        price_source="techbytes.app serverless GPU pricing matrix (Modal 0.5904; Replicate 0.81)",
        price_date="2026-05-07",
        spec_source=(
            "IBM/LLM-performance-prediction predict_performance/gpu_features.csv (65 TFLOPS, 16 "
            "GB; bandwidth 300 there, 320 on NVIDIA pages); INT8/TDP: NVIDIA T4 public spec pages"
        ),
        confidence="medium",
        note=(
            "IBM LLM-Pilot metadata uses 300 GB/s; no bf16, no FP8. Prices found are serverless "
            "rates, not VM list prices"
        ),
    ),
    Accelerator(
        name="NVIDIA L4",
        vendor="NVIDIA",
        memory_gb=24,
        bandwidth_gb_s=300,
        bf16_tflops=121,
        fp8_tflops=242,
        int8_tops=242,
        tdp_w=72,
        price_per_hour=Decimal("0.8"),
        price_low=Decimal("0.44"),
        price_high=Decimal("0.8"),
        price_source="deploybase.ai RunPod table 0.44; techbytes.app Modal 0.7992",
        price_date="2026-03 / 2026-05",
        spec_source="ai-dynamo/aiconfigurator aic-core/src/aiconfigurator_core/systems/l4.yaml",
        confidence="high",
    ),
    Accelerator(
        name="NVIDIA A10G",
        vendor="NVIDIA",
        memory_gb=24,
        bandwidth_gb_s=600,
        bf16_tflops=70,
        int8_tops=140,
        price_per_hour=Decimal("1.006"),
        price_low=Decimal("1.006"),
        price_high=Decimal("2.0"),
        price_source=(
            "AWS g5.xlarge us-east list 1.006 (whole instance, 1 GPU); OCI VM.GPU.A10.1 2.00 and "
            "Lambda A10 1.29 are for the A10, not A10G (skypilot-org/skypilot-catalog "
            "catalogs/v8/oci/vms.csv, skypilot-org/skypilot-catalog catalogs/v8/lambda/vms.csv)"
        ),
        price_date="2026-06",
        spec_source=(
            "cli99/llm-analysis llm_analysis/gpu_configs/a10g-pcie-24gb.json; memory and "
            "bandwidth also baseten.co A10 vs A10G"
        ),
        confidence="medium",
        note=(
            "A10G tensor rate is about 56 % of the A10 (125 TFLOPS); TDP left blank (sources "
            "disagree 150/300 W)"
        ),
    ),
    Accelerator(
        name="NVIDIA L40S",
        vendor="NVIDIA",
        memory_gb=48,
        bandwidth_gb_s=864,
        bf16_tflops=362,
        fp8_tflops=733,
        int8_tops=733,
        tdp_w=350,
        price_per_hour=Decimal("1.86"),
        price_low=Decimal("0.79"),
        price_high=Decimal("3.5"),
        price_source=(
            "AWS g6e.xlarge 1.861 (modal.com L40S price article, 2025-08); RunPod 0.79-0.86; "
            "Nebius 1.55; OCI 3.50 (skypilot-org/skypilot-catalog catalogs/v8/nebius/vms.csv, "
            "skypilot-org/skypilot-catalog catalogs/v8/oci/vms.csv)"
        ),
        price_date="2025-08 to 2026-06",
        spec_source="ai-dynamo/aiconfigurator aic-core/src/aiconfigurator_core/systems/l40s.yaml",
        confidence="high",
        note="usable memory 46,068 MiB; no FP4",
    ),
    Accelerator(
        name="NVIDIA A100 40GB SXM",
        vendor="NVIDIA",
        memory_gb=40,
        bandwidth_gb_s=1555,
        bf16_tflops=312,
        int8_tops=624,
        tdp_w=400,
        price_per_hour=Decimal("1.99"),
        price_low=Decimal("1.48"),
        price_high=Decimal("3.05"),
        price_source=(
            "Lambda 1.99 (skypilot-org/skypilot-catalog catalogs/v8/lambda/vms.csv); OCI "
            "BM.GPU4.8 24.4/8=3.05 (skypilot-org/skypilot-catalog catalogs/v8/oci/vms.csv); "
            "techbytes.app Lambda 1.48"
        ),
        price_date="2026",
        spec_source="cli99/llm-analysis llm_analysis/gpu_configs/a100-sxm-40gb.json",
        confidence="high",
        note="PCIe card same peak; TDP 400 W is the SXM value",
    ),
    Accelerator(
        name="NVIDIA A100 80GB SXM",
        vendor="NVIDIA",
        memory_gb=80,
        bandwidth_gb_s=2039,
        bf16_tflops=312,
        int8_tops=624,
        tdp_w=400,
        price_per_hour=Decimal("2.79"),
        price_low=Decimal("0.8"),
        price_high=Decimal("4.0"),
        price_source=(
            "Lambda 8x 22.32/8=2.79 (skypilot-org/skypilot-catalog catalogs/v8/lambda/vms.csv); "
            "RunPod A100 PCIe secure 1.39 (skypilot-org/skypilot-catalog "
            "catalogs/v8/runpod/vms.csv); OCI 32/8=4.00 (skypilot-org/skypilot-catalog "
            "catalogs/v8/oci/vms.csv); mercatus-ai.com long tail 0.80"
        ),
        price_date="2026",
        spec_source=(
            "ai-dynamo/aiconfigurator aic-core/src/aiconfigurator_core/systems/a100_sxm.yaml; "
            "cli99/llm-analysis llm_analysis/gpu_configs/a100-sxm-80gb.json"
        ),
        confidence="high",
        note="no FP8 tensor cores: FP8 weights run as W8A16",
    ),
    Accelerator(
        name="NVIDIA H100 PCIe 80GB",
        vendor="NVIDIA",
        memory_gb=80,
        bandwidth_gb_s=2000,
        bf16_tflops=756.5,
        fp8_tflops=1513,
        int8_tops=1513,
        tdp_w=350,
        price_per_hour=Decimal("3.29"),
        price_low=Decimal("1.99"),
        price_high=Decimal("3.51"),
        price_source=(
            "Lambda 3.29 (skypilot-org/skypilot-catalog catalogs/v8/lambda/vms.csv); RunPod 1.99 "
            "(deploybase.ai); techbytes.app Lambda 2.86"
        ),
        price_date="2026",
        spec_source=(
            "ai-dynamo/aiconfigurator aic-core/src/aiconfigurator_core/systems/h100_pcie.yaml; "
            "cli99/llm-analysis llm_analysis/gpu_configs/h100-pcie-80gb.json"
        ),
        confidence="high",
    ),
    Accelerator(
        name="NVIDIA H100 SXM 80GB",
        vendor="NVIDIA",
        memory_gb=80,
        bandwidth_gb_s=3350,
        bf16_tflops=989,
        fp8_tflops=1978,
        int8_tops=1978,
        tdp_w=700,
        price_per_hour=Decimal("2.95"),
        price_low=Decimal("1.99"),
        price_high=Decimal("10.0"),
        price_source=(
            "Nebius 2.95 (skypilot-org/skypilot-catalog catalogs/v8/nebius/vms.csv), "
            "aimultiple.com median 2.95; Lambda 8x 31.92/8=3.99; AWS p5 capacity block 4.916; OCI"
            " 80/8=10.00 (skypilot-org/skypilot-catalog catalogs/v8/oci/vms.csv)"
        ),
        price_date="2026",
        spec_source=(
            "ai-dynamo/aiconfigurator aic-core/src/aiconfigurator_core/systems/h100_sxm.yaml; "
            "inference-sim/inference-sim hardware_config.json"
        ),
        confidence="high",
        note="5x price spread between providers for the same chip: price must be an owner input",
    ),
    Accelerator(
        name="NVIDIA H200 SXM 141GB",
        vendor="NVIDIA",
        memory_gb=141,
        bandwidth_gb_s=4800,
        bf16_tflops=989,
        fp8_tflops=1978,
        int8_tops=1978,
        tdp_w=700,
        price_per_hour=Decimal("3.5"),
        price_low=Decimal("2.5"),
        price_high=Decimal("10.0"),
        price_source=(
            "Nebius 3.50 (skypilot-org/skypilot-catalog catalogs/v8/nebius/vms.csv); "
            "spheron.network 4.22-4.54; AWS capacity block 5.408; OCI 80/8=10.00 "
            "(skypilot-org/skypilot-catalog catalogs/v8/oci/vms.csv); mercatus-ai.com 2.50-7.00"
        ),
        price_date="2026",
        spec_source=(
            "ai-dynamo/aiconfigurator aic-core/src/aiconfigurator_core/systems/h200_sxm.yaml"
        ),
        confidence="high",
        note="same compute as H100 SXM, 1.43x bandwidth, 1.76x memory",
    ),
    Accelerator(
        name="NVIDIA B200 SXM",
        vendor="NVIDIA",
        memory_gb=180,
        bandwidth_gb_s=8000,
        bf16_tflops=2250,
        fp8_tflops=4500,
        int8_tops=4500,
        fp4_tflops=9000,
        tdp_w=1000,
        price_per_hour=Decimal("5.5"),
        price_low=Decimal("4.5"),
        price_high=Decimal("14.0"),
        price_source=(
            "Nebius 44/8=5.50 (skypilot-org/skypilot-catalog catalogs/v8/nebius/vms.csv); Lambda "
            "6.69-6.99 (skypilot-org/skypilot-catalog catalogs/v8/lambda/vms.csv); OCI "
            "112/8=14.00 (skypilot-org/skypilot-catalog catalogs/v8/oci/vms.csv); "
            "lyceum.technology 4.50-6.00"
        ),
        price_date="2026",
        spec_source=(
            "ai-dynamo/aiconfigurator aic-core/src/aiconfigurator_core/systems/b200_sxm.yaml"
        ),
        confidence="high",
        note="marketed 192 GB, 180 GB usable (catalogues list 184,320 MiB); some sources 7.7 TB/s",
    ),
    Accelerator(
        name="NVIDIA GB200 (per GPU)",
        vendor="NVIDIA",
        memory_gb=186,
        bandwidth_gb_s=8000,
        bf16_tflops=2500,
        fp8_tflops=5000,
        int8_tops=5000,
        fp4_tflops=10000,
        tdp_w=1200,
        price_low=Decimal("4.54"),
        price_high=Decimal("16.0"),
        price_source=(
            "spheron.network 9.08 per 2-GPU Superchip = 4.54/GPU; OCI BM.GPU.GB200.4 64/4=16.00 "
            "(skypilot-org/skypilot-catalog catalogs/v8/oci/vms.csv)"
        ),
        price_date="2026",
        spec_source="ai-dynamo/aiconfigurator aic-core/src/aiconfigurator_core/systems/gb200.yaml",
        confidence="medium",
        note="rack-scale rental only: two prices 3.5x apart, so no typical value given",
    ),
    Accelerator(
        name="NVIDIA RTX PRO 6000 Blackwell 96GB",
        vendor="NVIDIA",
        memory_gb=96,
        bandwidth_gb_s=1792,
        bf16_tflops=467.8,
        fp8_tflops=935.6,
        int8_tops=935.6,
        fp4_tflops=1871,
        tdp_w=600,
        price_per_hour=Decimal("1.57"),
        price_low=Decimal("0.89"),
        price_high=Decimal("4.5"),
        price_source=(
            "deploybase.ai RunPod table 0.89-1.57; OCI BM.GPU.RTXPRO.8 36/8=4.50 "
            "(skypilot-org/skypilot-catalog catalogs/v8/oci/vms.csv)"
        ),
        price_date="2026",
        spec_source=(
            "ai-dynamo/aiconfigurator aic-core/src/aiconfigurator_core/systems/rtx_pro_6000.yaml"
        ),
        confidence="medium",
    ),
    Accelerator(
        name="NVIDIA RTX 4090",
        vendor="NVIDIA",
        memory_gb=24,
        bandwidth_gb_s=1008,
        bf16_tflops=165.2,
        fp8_tflops=330.3,
        int8_tops=660.6,
        tdp_w=450,
        price_per_hour=Decimal("0.6"),
        price_low=Decimal("0.34"),
        price_high=Decimal("0.6"),
        price_source="deploybase.ai RunPod table (0.34 community/spot, 0.60 on-demand)",
        price_date="2026-03",
        spec_source="hmc-tech.com RTX 4090 spec page (FP16 and FP8 with FP32 accumulate, dense)",
        confidence="high",
        note="FP16-accumulate rates are 2x; INT8 dense 660.6",
    ),
    Accelerator(
        name="NVIDIA RTX 5090",
        vendor="NVIDIA",
        memory_gb=32,
        bandwidth_gb_s=1792,
        fp4_tflops=1676,
        tdp_w=575,
        price_per_hour=Decimal("1.22"),
        price_low=Decimal("0.69"),
        price_high=Decimal("1.22"),
        price_source="deploybase.ai RunPod table (0.69 / 1.22)",
        price_date="2026-03",
        spec_source=(
            "spheron.network RTX 5090 specs (sparse: FP16 838.4, FP8 1,676.8, FP4 3,352; FP4 "
            "dense = half)"
        ),
        confidence="medium",
        note=(
            "FP16/FP8 dense left blank: public pages disagree on the accumulate mode (209.5 or "
            "419 FP16 dense); fit it from telemetry"
        ),
    ),
)
